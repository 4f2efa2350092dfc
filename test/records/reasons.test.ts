import { createServer, type ServerResponse } from 'node:http';
import { json } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import * as z from 'zod';
import { listen } from '../../local/loopback.ts';
import type { LocalRouter } from '../../local/start.ts';
import type { Family } from '../support/families.ts';
import { CANARIES } from '../support/leak-watch.ts';
import { post, startWatched } from '../support/local.ts';
import { modelOn, targetAt } from '../support/models.ts';
import { PLANTED_SECRETS, PLANTED_TEXT } from '../support/planted-secrets.ts';
import { chatWire, messagesWire } from '../support/translate.ts';

const WORDS = 'temperature: must be 1 for this model.';
const BUSY = 'Too many people are asking this provider.';

const HELLO: Record<Family, string> = {
  chat: chatWire(
    [{ choices: [{ index: 0, delta: { content: 'Hello' }, finish_reason: null }] }],
    '',
  ),
  messages: messagesWire([
    { type: 'message_start', message: { id: 'm', usage: { input_tokens: 7, output_tokens: 1 } } },
    { type: 'content_block_start', index: 0, content_block: { type: 'text', text: 'Hello' } },
  ]),
};

const errorEvent = (protocol: Family, error: object): string =>
  protocol === 'chat' ? chatWire([{ error }], '') : messagesWire([{ type: 'error', error }]);

const REJECTS = { type: 'invalid_request_error', message: `${WORDS} ${PLANTED_TEXT}` };
const OVERFLOWS = {
  type: 'invalid_request_error',
  message: 'prompt is too long: 250000 tokens > 200000 maximum',
};
const FAILS = { type: 'overloaded_error', message: `${BUSY} ${PLANTED_TEXT}` };

/** Resolves when the caller of a stream has its first content. */
let firstContent: Promise<unknown>;

/** Sends the second part after the first content: what arrives with it still comes before it. */
const sse =
  (first: string, second = '') =>
  async (response: ServerResponse) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write(first);
    if (second !== '') await firstContent;
    response.end(second);
  };
const status = (code: number, error: object) => (response: ServerResponse) =>
  void response
    .writeHead(code, { 'content-type': 'application/json' })
    .end(JSON.stringify({ error }));

/** What the provider does, by its name of the model. */
const actsOf = (protocol: Family) => ({
  [`${protocol}-rejects-with-400`]: status(400, { ...REJECTS, param: 'temperature' }),
  [`${protocol}-rejects-at-once`]: sse(errorEvent(protocol, REJECTS)),
  [`${protocol}-rejects-midway`]: sse(HELLO[protocol], errorEvent(protocol, REJECTS)),
  [`${protocol}-overflows-midway`]: sse(HELLO[protocol], errorEvent(protocol, OVERFLOWS)),
  [`${protocol}-fails-midway`]: sse(HELLO[protocol], errorEvent(protocol, FAILS)),
});
const PROTOCOLS: Family[] = ['chat', 'messages'];
const ACTS: Record<string, (response: ServerResponse) => unknown> = Object.assign(
  {},
  ...PROTOCOLS.map(actsOf),
);

const Asked = z.object({ model: z.string() });

let provider: { url: string; close(): Promise<void> };
let router: LocalRouter;
beforeAll(async () => {
  provider = await listen(
    createServer(async (request, response) => {
      const { model } = Asked.parse(await json(request));
      ACTS[model]?.(response);
    }),
  );
  const catalog = PROTOCOLS.flatMap((protocol) =>
    Object.keys(actsOf(protocol)).map((model) =>
      modelOn([targetAt(provider.url, { protocol, model, upstream: model })], { id: model }),
    ),
  );
  router = await startWatched({ catalog, secrets: { secret: CANARIES.upstreamKey } });
});
afterAll(async () => {
  await router.close();
  await provider.close();
});

const Explained = z.looseObject({
  whose_fault: z.string(),
  charged: z.boolean(),
  what: z.string(),
  attempts: z.array(z.looseObject({ reason: z.string().optional() })),
  timeline: z.array(z.string()),
});

const ask = async (model: string, path: string, stream: boolean) => {
  const messages = [{ role: 'user', content: `${CANARIES.prompt} say one` }];
  const body = { model, stream, max_tokens: 50, temperature: 0.9, messages };
  const posted = post(router, path, body);
  firstContent = stream ? posted : Promise.resolve();
  const response = await posted;
  const id = response.headers.get('x-request-id') ?? '';
  const sent = { status: response.status, text: await response.text() };
  const read = async (url: string) =>
    Explained.parse(
      await (
        await fetch(`${router.baseUrl}${url}`, { headers: { 'x-api-key': router.key } })
      ).json(),
    );
  const [shown, kept] = [await read(`/v1/requests/${id}`), await read(`/admin/requests/${id}`)];
  return { ...sent, shown, kept };
};

const CHAT = '/v1/chat/completions';
const PATHS = [CHAT, '/v1/messages'];
const GRID = PROTOCOLS.flatMap((protocol) => PATHS.map((path) => [protocol, path] as const));

const expectDiscretion = (text: string): void => {
  const inside = [...PLANTED_SECRETS, CANARIES.prompt, 'planted'];
  expect(inside.filter((secret) => text.includes(secret))).toEqual([]);
};

describe("a provider's reason", () => {
  test.each(GRID)(
    'a rejection by a %s provider is explained on %s as the fault of the caller, with the reason',
    async (protocol, path) => {
      for (const model of [`${protocol}-rejects-with-400`, `${protocol}-rejects-at-once`]) {
        const { status: code, text, shown, kept } = await ask(model, path, true);
        expect(code).toBe(400);
        expect(text).toContain(`The model's provider rejected the request: ${WORDS}`);
        expect(shown).toMatchObject({ whose_fault: 'caller', charged: false, status: 400 });
        expect(shown.attempts.at(-1)?.reason).toContain(WORDS);
        expectDiscretion(text + JSON.stringify([shown, kept]));
      }
    },
  );

  test.each(GRID)(
    'a %s provider that rejects the request in mid-stream gives its reason in the last event on %s',
    async (protocol, path) => {
      const {
        status: code,
        text,
        shown,
        kept,
      } = await ask(`${protocol}-rejects-midway`, path, true);
      expect(code).toBe(200);
      expect(text).toContain('Hello');
      const last = text.trimEnd().split('\n\n').at(-1);
      expect(last).toMatch(/^event: error\n/);
      expect(last).toContain(`The model's provider rejected the request: ${WORDS}`);
      expect(shown).toMatchObject({ whose_fault: 'caller', charged: false, outcome: 'failed' });
      expect(shown.attempts).toMatchObject([
        { error: 'status', reason: expect.stringContaining(WORDS) },
      ]);
      expect(shown.timeline.join('\n')).toMatch(
        /sent its first content\n.* failed: status 400: temp/,
      );
      expectDiscretion(text + JSON.stringify([shown, kept]));
    },
  );

  test.each(GRID)(
    'a %s provider that rejects a whole response in its middle is a 400 with the reason on %s',
    async (protocol, path) => {
      const { status: code, text, shown } = await ask(`${protocol}-rejects-midway`, path, false);
      expect(code).toBe(400);
      expect(text).toContain(WORDS);
      expect(shown).toMatchObject({ whose_fault: 'caller', charged: false, status: 400 });
    },
  );

  test.each(PROTOCOLS)(
    'a prompt that a %s provider calls too long in mid-stream is reported as such',
    async (protocol) => {
      const { text, shown } = await ask(`${protocol}-overflows-midway`, CHAT, true);
      expect(text).toContain('prompt is too long: 250000 tokens > 200000 maximum');
      expect(shown).toMatchObject({ whose_fault: 'caller', charged: false });
    },
  );

  test.each(GRID)(
    'a %s provider that fails in mid-stream gives its reason to operators and not to callers of %s',
    async (protocol, path) => {
      const { text, shown, kept } = await ask(`${protocol}-fails-midway`, path, true);
      expect(text).toMatch(/event: error\n/);
      expect(text + JSON.stringify(shown)).not.toContain(BUSY);
      expect(shown).toMatchObject({ whose_fault: 'provider', charged: false });
      expect(kept.attempts).toMatchObject([
        { error: 'status', status: 529, reason: expect.stringContaining(BUSY) },
      ]);
      expectDiscretion(text + JSON.stringify([shown, kept]));
    },
  );
});
