import { beforeEach, expect, test } from 'vitest';
import { useRouter } from '../support/local.ts';
import { modelOn, targetAt } from '../support/models.ts';
import { send } from '../support/send.ts';
import { WIRES } from '../support/wires.ts';

type Json = Record<string, unknown>;

/** What OpenAI's SDK for Python sends; of its headers those that a server could read. */
const HEADERS = {
  accept: 'application/json',
  'x-stainless-lang': 'python',
  'x-stainless-retry-count': '0',
  'x-stainless-read-timeout': '600',
};
/** Calls of the SDK (3.57.0), as it wrote them, with names in place of ids; `{name}` is the id of the call of that name. */
const CALLS: [name: string, call: string, body?: Json][] = [
  [
    'first',
    'POST /v1/responses',
    { include: ['reasoning.encrypted_content'], input: 'say Uno is the first.' },
  ],
  [
    'read',
    'GET /v1/responses/{first}?include%5B%5D=reasoning.encrypted_content&include%5B%5D=message.output_text.logprobs',
  ],
  [
    'second',
    'POST /v1/responses',
    { input: [{ role: 'user', content: 'say Due.' }], previous_response_id: '{first}' },
  ],
  [
    'items',
    'GET /v1/responses/{second}/input_items?include%5B%5D=message.input_image.image_url&limit=20&order=asc',
  ],
  [
    'stream',
    'POST /v1/responses',
    { stream: true, background: true, input: 'say Cinque six seven eight.' },
  ],
  ['rest', 'GET /v1/responses/{stream}?starting_after=3&stream=true'],
  ['long', 'POST /v1/responses', { background: true, input: `say ${'word '.repeat(3_000)}` }],
  ['cancelled', 'POST /v1/responses/{long}/cancel'],
  ['deleted', 'DELETE /v1/responses/{first}'],
  ['gone', 'GET /v1/responses/{first}'],
];

const router = useRouter({
  catalog: WIRES.map((protocol) =>
    modelOn([targetAt('https://upstream.example', { protocol, upstream: protocol })], {
      id: `state/${protocol}`,
    }),
  ),
  ...{ state: 'default', delayMs: 2 },
});
beforeEach(() => router().upstreams.reset());

test.each(WIRES)(
  "the requests of OpenAI's SDK for Python read, continue, follow, cancel and delete on %s",
  async (protocol) => {
    const ids = new Map<string, string>();
    const named = (text: string) =>
      text.replace(/\{(\w+)\}/g, (_, name: string) => ids.get(name) ?? '');
    const answers: Record<string, { status: number; text: string; json: Json }> = {};
    for (const [name, call, body] of CALLS) {
      const [method = '', path = ''] = named(call).split(' ');
      const { status, text } = await send(router().baseUrl, path, {
        ...{ method, headers: { ...HEADERS, authorization: `Bearer ${router().key}` } },
        ...(body && { body: named(JSON.stringify({ model: `state/${protocol}`, ...body })) }),
      });
      answers[name] = { status, text, json: text.startsWith('{') ? JSON.parse(text) : {} };
      ids.set(name, /"id":"(resp_\w+)"/.exec(text)?.[1] ?? '');
    }
    const { gone, first, read, second, items, stream, rest, cancelled, ...others } = answers;
    expect(gone?.status).toBe(404);
    expect(Object.values(others).map(({ status }) => status)).toEqual([200, 200]);
    expect(read?.json).toEqual(first?.json);
    expect(second?.json).toMatchObject({ previous_response_id: ids.get('first') });
    const shown = ['user', 'assistant', 'user'].map((role) => expect.objectContaining({ role }));
    expect(items?.json.data).toEqual(shown);
    const numbersIn = (text = '') => text.match(/"sequence_number":\d+/g) ?? [];
    expect(numbersIn(rest?.text)).toEqual(numbersIn(stream?.text).slice(4));
    expect(rest?.text).toContain('event: response.completed');
    expect(cancelled?.json).toMatchObject({ id: ids.get('long'), status: 'cancelled' });
  },
);
