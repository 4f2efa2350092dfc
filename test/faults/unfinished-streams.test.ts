import { afterAll, beforeAll, expect, test } from 'vitest';
import * as z from 'zod';
import { CALLER_PROTOCOLS, UPSTREAM_PROTOCOLS } from '../../lambdas/protocols/protocol-name.ts';
import type { LocalRouter } from '../../local/start.ts';
import { askHello } from '../support/ask-hello.ts';
import {
  type GenerationUpstream,
  startGenerationUpstream,
} from '../support/generation-upstream.ts';
import { CANARIES } from '../support/leak-watch.ts';
import { startWatched } from '../support/local.ts';
import { aloneAndWithNext } from '../support/models.ts';
import { helloAt } from '../support/strict-upstream/vendors.ts';

const WORDS = 'the engine has stopped';

type Form = {
  message: object;
  /** What the stream has behind the message. */
  end?: string;
  status: number;
  error: string;
  reason?: string;
};

/** Last messages of streams that do not end, as servers of models and gateways send them without the member `error`. */
const FORMS: Record<string, Form> = {
  'a detail': { message: { detail: WORDS }, status: 502, error: 'truncated', reason: WORDS },
  'a detail and [DONE]': {
    ...{ message: { detail: WORDS }, end: 'data: [DONE]\n\n' },
    ...{ status: 502, error: 'truncated', reason: WORDS },
  },
  'details of fields': {
    message: { detail: [{ loc: ['body', 'n'], msg: WORDS, type: 'value_error' }] },
    ...{ status: 502, error: 'truncated', reason: `n: ${WORDS}` },
  },
  'a rejection': {
    message: { message: WORDS, type: 'BadRequestError', code: 400 },
    ...{ status: 400, error: 'status', reason: WORDS },
  },
  'a rate limit': {
    message: { detail: WORDS, code: 429 },
    ...{ status: 503, error: 'status', reason: WORDS },
  },
  'an unknown message': { message: { type: 'note', code: 'x' }, status: 502, error: 'truncated' },
};

const PLACES = [
  { place: 'alone', stream: true },
  { place: 'alone, collected', stream: false },
  { place: 'behind content', stream: true },
];
const rows = UPSTREAM_PROTOCOLS.flatMap((protocol) =>
  Object.entries(FORMS).flatMap(([form, one]) =>
    PLACES.map((place) => ({ ...one, ...place, form, protocol })),
  ),
).map((row, index) => {
  // Each place and each form meets each caller.
  const at = (index + Math.floor(index / PLACES.length)) % CALLER_PROTOCOLS.length;
  return { ...row, caller: CALLER_PROTOCOLS[at] ?? 'chat', model: `row-${index}` };
});

let upstream: GenerationUpstream;
let router: LocalRouter;
beforeAll(async () => {
  const byModel = new Map(rows.map((row) => [row.model, row]));
  upstream = await startGenerationUpstream(undefined, ({ url, body }) => {
    const [, named = ''] = /\/models\/([^:]+):/.exec(url) ?? [];
    const row = byModel.get(String(body.model ?? named));
    const hello = helloAt(url).replaceAll('\r', '');
    if (!row) return { type: 'text/event-stream', text: hello };
    const begun = hello
      .slice(0, hello.indexOf('\n\n', hello.indexOf('Hello')) + 2)
      .replaceAll('"finishReason":"STOP"', '"index":0');
    const last = `data: ${JSON.stringify(row.message)}\n\n${row.end ?? ''}`;
    return {
      type: 'text/event-stream',
      text: `${row.place === 'behind content' ? begun : ''}${last}`,
    };
  });
  const catalog = rows.flatMap(({ model, protocol }) =>
    aloneAndWithNext(upstream.url, model, protocol),
  );
  router = await startWatched({ catalog, secrets: { secret: CANARIES.upstreamKey } });
});
afterAll(async () => {
  await router.close();
  await upstream.close();
});

const Attempts = z.object({
  attempts: z.array(z.looseObject({ error: z.string().optional(), reason: z.string().optional() })),
});

const ask = (row: (typeof rows)[number], vendor: string) =>
  askHello(router, { ...row, model: `${vendor}/${row.model}` }, Attempts);

test.each(rows)(
  'the last message of a stream without an end is its reason: $form $place, of $protocol for $caller',
  async (row) => {
    const { status, text, attempts } = await ask(row, 'v');
    const isBegun = row.place === 'behind content';
    if (!isBegun) expect(status).toBe(row.status);
    expect(text.includes(WORDS)).toBe(row.status === 400);
    expect(attempts[0]?.error).toBe(row.error);
    expect(attempts[0]?.reason).toBe(row.reason);
    const other = await ask(row, 'two');
    expect([other.status, other.text]).toEqual([200, expect.stringContaining('Hello')]);
  },
);
