import { createServer, type ServerResponse } from 'node:http';
import { json } from 'node:stream/consumers';
import { afterAll, beforeAll, expect, test } from 'vitest';
import * as z from 'zod';
import { CALLER_PROTOCOLS } from '../../lambdas/protocols/protocol-name.ts';
import { listen } from '../../local/loopback.ts';
import type { LocalRouter } from '../../local/start.ts';
import { askHello } from '../support/ask-hello.ts';
import { CANARIES } from '../support/leak-watch.ts';
import { post, startWatched } from '../support/local.ts';
import { aloneAndWithNext } from '../support/models.ts';
import { PATHS } from '../support/request-forms.ts';
import { helloAt, VENDORS, wireAt } from '../support/strict-upstream/vendors.ts';
import { WIRES } from '../support/wires.ts';

const FORM = { isWhole: true, isAscii: false, units: [] };
const HELLO = {
  text: 'Hello',
  calls: [],
  finish: 'stop' as const,
  usage: { input: 3, cached: 0, output: 1 },
};
const EVIL = 'HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nevil';

/** Sends a body with its length as `content-length`, or with another one. */
const FORMS: Record<string, (response: ServerResponse, body: string, type: string) => void> = {
  'too long': (response, body, type) => {
    response.writeHead(200, {
      'content-type': type,
      'content-length': Buffer.byteLength(body) + 9,
    });
    response.write(body, () => response.socket?.end());
  },
  'too short': (response, body, type) => {
    const length = Buffer.byteLength(body.slice(0, body.indexOf('Hello') + 3));
    response.writeHead(200, { 'content-type': type, 'content-length': length });
    response.end(body + EVIL);
  },
  'of a body before another response': (response, body, type) => {
    response.writeHead(200, { 'content-type': type, 'content-length': Buffer.byteLength(body) });
    response.end(body + EVIL);
  },
};

const rows = WIRES.flatMap((protocol) =>
  Object.keys(FORMS).flatMap((form) =>
    [true, false].map((isWhole) => ({ protocol, form, isWhole })),
  ),
).map((row, index) => {
  const caller = CALLER_PROTOCOLS[index % CALLER_PROTOCOLS.length] ?? 'chat';
  const isComplete = row.form.startsWith('of') || (row.form === 'too long' && !row.isWhole);
  const kind = row.isWhole ? 'whole' : 'streamed';
  return { ...row, caller, isComplete, kind, model: `row-${index}` };
});

/** Errors whose connection ends before their body does, with the status and the text that the caller gets. */
const ERRORS = [
  { code: 400, status: 400, text: 'rejected the request: no such voice' },
  { code: 401, status: 500, text: 'credentials were rejected' },
  { code: 413, status: 413, text: 'too large' },
  { code: 429, status: 503, text: 'busy at its provider' },
].flatMap((one) => [
  { ...one, form: 'with a length too long', headers: { 'content-length': 1_000 } },
  { ...one, form: 'in unfinished chunks', headers: {} },
]);

let provider: { url: string; close(): Promise<void> };
let router: LocalRouter;
beforeAll(async () => {
  provider = await listen(
    createServer(async (request, response) => {
      const url = request.url ?? '';
      const body = z.looseObject({ model: z.string().optional() }).parse(await json(request));
      const [, named] = /\/models\/([^:]+):/.exec(url) ?? [];
      const failing = ERRORS[Number(/^error-(\d+)$/.exec(String(body.model))?.[1] ?? -1)];
      if (failing) {
        response.writeHead(failing.code, {
          ...failing.headers,
          'content-type': 'application/json',
        });
        const error = JSON.stringify({ error: { message: 'no such voice' } });
        response.write(error, () => response.socket?.end());
        return;
      }
      const row = rows.find(({ model }) => model === (body.model ?? named));
      const text = row?.isWhole ? VENDORS[wireAt(url)].whole(HELLO, FORM) : helloAt(url);
      const type = row?.isWhole ? 'application/json' : 'text/event-stream';
      if (row) FORMS[row.form]?.(response, text, type);
      else response.writeHead(200, { 'content-type': type }).end(text);
    }),
  );
  const catalog = [
    ...rows.flatMap(({ model, protocol }) => aloneAndWithNext(provider.url, model, protocol)),
    ...ERRORS.flatMap((_, index) => aloneAndWithNext(provider.url, `error-${index}`)),
  ];
  router = await startWatched({ catalog, secrets: { secret: CANARIES.upstreamKey } });
});
afterAll(async () => {
  await router.close();
  await provider.close();
});

const Kept = z.object({ charged: z.boolean() });

const ask = (row: (typeof rows)[number], vendor: string, stream: boolean) =>
  askHello(router, { ...row, model: `${vendor}/${row.model}`, stream }, Kept);

test.each(rows)(
  'a $kind response of $protocol with a content-length $form reaches $caller whole and charged, or as an error that costs no unit',
  async (row) => {
    for (const stream of [true, false]) {
      const { status, text, charged } = await ask(row, 'v', stream);
      expect(charged).toBe(row.isComplete);
      if (row.isComplete) expect([status, text]).toEqual([200, expect.stringContaining('Hello')]);
      else expect(text).toContain('api_error');
      const next = await ask(row, 'two', stream);
      // Behind the first content there is no failover.
      if (row.isComplete || row.isWhole) expect(next.text).toContain('Hello');
      expect(text + next.text).not.toContain('evil');
    }
  },
);

test.each(ERRORS.map((one, index) => ({ ...one, index })))(
  'an error $code $form whose connection ends early has the class of its status',
  async ({ index, status, text }) => {
    const sent = await post(router, PATHS.chat, {
      ...{ model: `v/error-${index}`, messages: [{ role: 'user', content: 'hi' }] },
    });
    expect([sent.status, await sent.text()]).toEqual([status, expect.stringContaining(text)]);
  },
);
