import { bodyOf, fields, type On, POSTS, type Row, raw } from './draft.ts';

const nested = (depth: number) => `{"a":${'['.repeat(depth - 1)}${']'.repeat(depth - 1)}}`;

/** A good body with a text put in after its first brace. */
const withText = (name: string, on: On[], status: number, text: string): Row => ({
  name,
  on,
  status,
  change: ({ body }) => ({ body: String(body).replace('{', `{${text},`) }),
});

/** A good body whose model or content is written with escapes of our own. */
const replaced = (name: string, status: number, from: string, to: string): Row => ({
  name,
  on: POSTS,
  status,
  change: ({ body }) => ({ body: String(body).replace(from, () => to) }),
});

const cap = (name: string, status: number, text: string): Row => ({
  name,
  on: ['chat', 'messages'],
  status,
  change: (draft) => ({
    body: JSON.stringify({ ...JSON.parse(String(draft.body)), max_tokens: 'N' }).replace(
      '"N"',
      text,
    ),
  }),
});

const BROKEN: Record<string, string> = {
  'an open brace': '{',
  'a trailing comma': '{"a":1,}',
  'a comment': '{"a":1} // x',
  'single quotes': "{'a':1}",
  NaN: '{"a":NaN}',
  Infinity: '{"a":-Infinity}',
  'two values': '{}{}',
  'a bare word': '{"a":yes}',
  'a leading zero': '{"a":01}',
  'a raw line break': '{"a":"\n"}',
  'an unknown escape': String.raw`{"a":"\x41"}`,
};

const NO_OBJECTS = ['[]', 'null', '1', '"x"', 'true', '[{}]'];

export const JSON_ROWS: Row[] = [
  ...Object.entries(BROKEN).map(([name, body]) => raw(`89-92 ${name}`, POSTS, 400, body)),
  ...NO_OBJECTS.map((body) => raw(`90 ${body} on top`, POSTS, 400, body)),
  raw('93 65 levels', POSTS, 400, nested(65)),
  raw('93 a million levels', POSTS, 400, nested(1_000_000)),
  withText(
    '93 64 levels in a field nobody knows',
    POSTS,
    200,
    `"x":${'['.repeat(63)}${']'.repeat(63)}`,
  ),
  withText('94 two models, the last of which counts', POSTS, 200, '"model":"no/model"'),
  withText('95 __proto__', POSTS, 200, '"__proto__":{"model":"no/model","stream":true}'),
  withText('95 constructor', POSTS, 200, '"constructor":{"prototype":{"polluted":1}}'),
  withText(
    '95 prototype and toString',
    POSTS,
    200,
    '"prototype":1,"toString":2,"hasOwnProperty":3',
  ),
  cap('96 a number beyond all bounds', 400, '1e400'),
  cap('97 1.0', 200, '1.0'),
  cap('97 1e1', 200, '1e1'),
  cap('98 2^53 + 1', 400, '9007199254740993'),
  fields('97 minus zero on chat', ['chat'], 400, { max_tokens: -0 }),
  replaced('99 half a surrogate pair', 400, 'canary-prompt', String.raw`\ud800`),
  replaced('99 the other half', 400, 'canary-prompt', String.raw`x\udc00`),
  replaced('100 NUL in the content', 200, 'canary-prompt', String.raw`a\u0000b`),
  replaced('100 NUL in the model', 400, 'vendor/model', String.raw`vendor/model\u0000`),
  fields('101 9,990 unknown fields', POSTS, 200, manyFields(9_990)),
  fields('101 100,000 unknown fields', POSTS, 400, manyFields(100_000)),
  fields('101 100,000 unknown fields of a message', POSTS, 400, {
    messages: [{ role: 'user', content: 'x', ...manyFields(100_000) }],
  }),
  fields('102 a million elements', POSTS, 400, {
    messages: Array.from({ length: 1_000_000 }, () => 1),
  }),
  fields('103 one text of 4 MB', POSTS, 200, {
    messages: [{ role: 'user', content: 'x '.repeat(50_000) }],
  }),
  fields('over 10,000 messages', POSTS, 400, {
    messages: Array.from({ length: 10_001 }, () => ({ role: 'user', content: 'x' })),
  }),
  fields('over 256 tools', POSTS, 400, {
    tools: Array.from({ length: 257 }, (_, at) => toolOf(at)),
  }),
  raw('an empty object', POSTS, 400, '{}'),
  raw(
    'keys that look like paths',
    POSTS,
    400,
    JSON.stringify({ ...bodyOf('chat'), 'messages.0': 1, messages: null }),
  ),
];

function manyFields(length: number): Record<string, unknown> {
  return Object.fromEntries(Array.from({ length }, (_, at) => [`x${at}`, at]));
}

function toolOf(at: number) {
  return { name: `f${at}`, input_schema: { type: 'object' } };
}
