import { ALL, auth, type Row } from './draft.ts';

const bearer = (value: string) => ({ authorization: value });
const flip = (key: string) => key.slice(0, -1) + (key.endsWith('0') ? '1' : '0');

export const AUTH_ROWS: Row[] = [
  auth('1 no key', ALL, 401, () => ({})),
  auth('2 an empty Authorization', ALL, 401, () => bearer('')),
  auth('3 Bearer alone', ALL, 401, () => bearer('Bearer')),
  auth('4 Bearer and a space', ALL, 401, () => bearer('Bearer ')),
  auth('5 bearer in small letters', ALL, 200, ({ valid }) => bearer(`bearer ${valid}`)),
  auth('6 BEARER and two spaces', ALL, 200, ({ valid }) => bearer(`BEARER  ${valid}`)),
  auth('7 another scheme', ALL, 401, ({ valid }) => bearer(`Basic ${valid}`)),
  auth('8 the bare key in Authorization', ALL, 401, ({ valid }) => bearer(valid)),
  auth('9 spaces around x-api-key', ALL, 200, ({ valid }) => ({ 'x-api-key': ` ${valid} ` })),
  auth('10 x-api-key of spaces', ALL, 401, () => ({ 'x-api-key': '   ' })),
  auth('11 a space inside', ALL, 401, ({ valid }) => bearer(`Bearer ${valid.slice(0, 9)} x`)),
  auth('12 bytes beyond ASCII', ALL, 401, ({ valid }) => bearer(`Bearer ${valid}\u00e9`)),
  auth('13 a no-break space before it', ALL, 401, ({ valid }) => bearer(`Bearer \u00a0x${valid}`)),
  auth('14 both headers, equal', ALL, 200, ({ valid }) => ({
    ...bearer(`Bearer ${valid}`),
    'x-api-key': valid,
  })),
  auth('15 both headers, two keys of ours', ALL, 401, ({ valid, other }) => ({
    ...bearer(`Bearer ${valid}`),
    'x-api-key': other,
  })),
  auth('15 both headers, one of another vendor', ALL, 200, ({ valid }) => ({
    ...bearer('Bearer sk-ant-0123456789'),
    'x-api-key': valid,
  })),
  auth('16 two keys in Authorization', ALL, 401, ({ valid, other }) =>
    bearer(`Bearer ${valid}, Bearer ${other}`),
  ),
  auth('17 two keys in x-api-key', ALL, 401, ({ valid, other }) => ({
    'x-api-key': `${valid}, ${other}`,
  })),
  auth('18 a key cut short', ALL, 401, ({ valid }) => bearer(`Bearer ${valid.slice(0, -1)}`)),
  auth('19 another last character', ALL, 401, ({ valid }) => bearer(`Bearer ${flip(valid)}`)),
  auth('20 a well-formed key that nobody has', ALL, 401, ({ unknown }) =>
    bearer(`Bearer ${unknown}`),
  ),
  auth('21 a key in capitals', ALL, 401, ({ valid }) => bearer(`Bearer ${valid.toUpperCase()}`)),
  auth('22 a key of 4 KB', ALL, 401, () => bearer(`Bearer mrk_live_${'a'.repeat(4000)}`)),
  auth('23 a revoked key', ALL, 401, ({ revoked }) => bearer(`Bearer ${revoked}`)),
  auth('24 an expired key', ALL, 401, ({ expired }) => bearer(`Bearer ${expired}`)),
  auth('25 a replaced key in its grace', ALL, 200, ({ inGrace }) => bearer(`Bearer ${inGrace}`)),
  auth('26 a replaced key after it', ALL, 401, ({ afterGrace }) => bearer(`Bearer ${afterGrace}`)),
  auth('27 a key of a test system', ALL, 401, ({ valid }) =>
    bearer(`Bearer ${valid.replace('live', 'test')}`),
  ),
  auth('30 a percent-encoded key', ALL, 401, ({ valid }) =>
    bearer(`Bearer ${valid.replace('_', '%5F')}`),
  ),
  auth('31 a key of another vendor', ALL, 401, () => bearer('Bearer sk-proj-0123456789abcdef')),
  auth('34 x-api-key on every family', ALL, 200, ({ valid }) => ({ 'x-api-key': valid })),
  {
    name: '28 the key in the address',
    on: ALL,
    status: 401,
    change: ({ path }, { valid }) => ({
      path: `${path}?api_key=${valid}&key=${valid}`,
      headers: {},
    }),
  },
  {
    name: '29 the key in the body',
    on: ['chat', 'messages', 'count'],
    status: 401,
    change: ({ body }, { valid }) => ({
      headers: {},
      body: JSON.stringify({ ...JSON.parse(String(body)), api_key: valid }),
    }),
  },
];
