import { createServer, type ServerResponse } from 'node:http';
import { json } from 'node:stream/consumers';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Listening, listen } from '../../local/loopback.ts';
import { askFor } from '../metering/ask.ts';
import { type Fleet, startFleet } from '../metering/fleet.ts';
import { modelOn, targetAt } from '../support/models.ts';
import { readSse } from '../support/sse-text.ts';
import { ENDLESS, endlessOf } from './growth/inputs.ts';

const PATHS = { chat: '/v1/chat/completions', messages: '/v1/messages' };
/** A process without limits takes all of it, and dies long before its end. */
const MAX_SENT_BYTES = 400_000_000;
const HEAP_MB = 96;
const WORD_MS = 50;

const chunk = (delta: object, finish: string | null = null) =>
  `data: ${JSON.stringify({ choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`;

let isOver = false;

/** A word every 50 ms until the others are over. */
const speak = async (response: ServerResponse): Promise<void> => {
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  while (!isOver) {
    response.write(chunk({ content: 'word ' }));
    await pause(WORD_MS);
  }
  response.end(`${chunk({}, 'stop')}data: [DONE]\n\n`);
};

/** Writes as fast as the router reads. */
const flood = (response: ServerResponse, { opening, piece }: (typeof ENDLESS)[number]): void => {
  let sent = 0;
  const pump = () => {
    for (let isFree = true; isFree && sent < MAX_SENT_BYTES && !response.destroyed; ) {
      const part = piece(Math.floor(sent / 16_000));
      sent += part.length;
      isFree = response.write(part);
    }
    if (sent >= MAX_SENT_BYTES) response.destroy();
  };
  response.writeHead(200, { 'content-type': 'text/event-stream' }).on('drain', pump);
  response.write(opening);
  pump();
};

let upstream: Listening;
let fleet: Fleet;
beforeAll(async () => {
  upstream = await listen(
    createServer(async (incoming, response) => {
      const { model } = (await json(incoming)) as { model: string };
      const endless = endlessOf(model);
      if (endless) flood(response, endless);
      else await speak(response);
    }),
  );
  const on = (id: string, extra: object = {}) =>
    modelOn([targetAt(upstream.url, { model: id, upstream: id, ...extra })], { id });
  const catalog = [
    on('vendor/speaks'),
    ...ENDLESS.map(({ id, wire }) => on(id, { protocol: wire })),
  ];
  fleet = await startFleet({
    now: Date.now(),
    skews: [0],
    nodeOptions: [`--max-old-space-size=${HEAP_MB}`],
    local: { catalog, secrets: { secret: 'secret' } },
  });
});
afterAll(async () => {
  isOver = true;
  await fleet.close();
  await upstream.close();
});

test(`endless responses, whole and streamed, neither end a process with a heap of ${HEAP_MB} MB nor break another caller's stream`, async () => {
  const key = await fleet.createKey();
  const { url = '', process } = fleet.servers[0] ?? {};
  const ask = (path: string, model: string, stream: boolean) =>
    askFor(url, { path, key, model, stream });
  const bystander = await ask(PATHS.chat, 'vendor/speaks', true);
  const heard = bystander.text();
  const asked = ENDLESS.flatMap(({ id, wire }) =>
    [true, false].map(async (stream) => {
      const response = await ask(PATHS[wire], id, stream);
      await response.arrayBuffer();
      return response.status;
    }),
  );
  for (const status of await Promise.all(asked)) expect([200, 502]).toContain(status);
  expect(process?.exitCode).toBeNull();
  isOver = true;
  const events = readSse(await heard);
  expect(events.at(-1)?.data).toBe('[DONE]');
  expect(await heard).not.toContain('"error"');
});
