import type { ServerResponse } from 'node:http';
import { describe, expect, test } from 'vitest';
import type { GenerationEvent } from '../../../lambdas/protocols/generation.ts';
import { upstreamProtocols } from '../../../lambdas/protocols/protocols.ts';
import { createHttpUpstream } from '../../../lambdas/upstreams/http-upstream.ts';
import type { EventBatches } from '../../../lambdas/upstreams/upstream.ts';
import type { Family } from '../../support/families.ts';
import { fixedSecrets } from '../../support/fixed-secrets.ts';
import { createManualClock, type ManualClock } from '../../support/manual-clock.ts';
import { startMisbehaving } from '../../support/misbehaving-server.ts';
import { chatWire, messagesWire, requestOf } from '../../support/translate.ts';

const said = { choices: [{ index: 0, delta: { content: 'Hi' }, finish_reason: null }] };
const finished = { choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] };
const opened = [
  { type: 'message_start', message: { id: 'm', usage: { input_tokens: 1, output_tokens: 1 } } },
  { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
  { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'Hi' } },
];
const ended = { type: 'message_delta', delta: { stop_reason: 'end_turn' } };

const SAID = { chat: chatWire([said], ''), messages: messagesWire(opened) };
const FINISHED = {
  chat: chatWire([said, finished], ''),
  messages: messagesWire([...opened, ended]),
};

type Ending = { response: ServerResponse; clock: ManualClock };

/** What becomes of the connection once the answer's bytes have arrived, and the fault that stands for it. */
const ENDINGS: [how: string, kind: string, end: (ending: Ending) => void][] = [
  ['is reset', 'reset', ({ response }) => response.destroy()],
  [
    'breaks off in mid-line',
    'reset',
    ({ response }) => response.write('data: {"ch', () => response.destroy()),
  ],
  ['falls silent', 'idle-timeout', ({ clock }) => clock.advance(60_000)],
];

const open = async (protocol: Family, wire: string) => {
  const { promise, resolve } = Promise.withResolvers<ServerResponse>();
  const server = await startMisbehaving((response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write(wire);
    resolve(response);
  });
  const clock = createManualClock(0);
  const secrets = fixedSecrets('secret');
  const batches = await createHttpUpstream({ clock, secrets }).open({
    request: requestOf(protocol),
    target: { upstream: 'aurora', protocol, baseUrl: server.url, model: 'm', secret: 's' },
    protocol: upstreamProtocols[protocol],
    maxOutputTokens: 1000,
    limits: { characters: 1_000_000, messages: 10_000, overhead: 1_000_000 },
    signal: new AbortController().signal,
  });
  return { batches, ending: { response: await promise, clock } };
};

/** Reads until the answer's text is there, lets `end` happen, and reads the rest. */
const readOver = async (batches: EventBatches, end: () => void): Promise<GenerationEvent[]> => {
  const events: GenerationEvent[] = [];
  let isOver = false;
  for await (const batch of batches) {
    events.push(...batch);
    if (isOver || !batch.some(({ type }) => type === 'block-delta')) continue;
    isOver = true;
    // Once the next read waits, as it does when a connection breaks.
    setImmediate(end);
  }
  return events;
};

describe.each(['chat', 'messages'] as const)('an answer of %s whose connection', (protocol) => {
  test.each(ENDINGS)('%s after its finish is whole', async (_how, _kind, end) => {
    const { batches, ending } = await open(protocol, FINISHED[protocol]);
    const events = await readOver(batches, () => end(ending));
    expect(events.at(-1)).toMatchObject({ type: 'finish', reason: { unified: 'stop' } });
  });

  test.each(ENDINGS)('%s before its finish is a fault', async (_how, kind, end) => {
    const { batches, ending } = await open(protocol, SAID[protocol]);
    await expect(readOver(batches, () => end(ending))).rejects.toMatchObject({ kind });
  });
});
