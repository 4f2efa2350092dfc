import type { ServerResponse } from 'node:http';
import { expect, onTestFinished, test } from 'vitest';
import {
  CALLER_PROTOCOLS,
  type CallerProtocolName,
} from '../../lambdas/protocols/protocol-name.ts';
import { createCountingClock } from '../support/counting-clock.ts';
import { startFleet } from '../support/fleet.ts';
import { type Act, answer, startUpstream } from '../support/fleet-upstream.ts';
import { CANARIES } from '../support/leak-watch.ts';
import { modelOn, targetAt } from '../support/models.ts';
import { conversationOf, PATHS } from '../support/request-forms.ts';
import { send } from '../support/send.ts';
import { chatWire, messagesWire } from '../support/translate.ts';
import { WIRES, type Wire } from '../support/wires.ts';

const USAGE = { input_tokens: 1, output_tokens: 1 };
/** What a provider sends before the model has generated a token. */
const OPENINGS: Record<Wire, string> = {
  chat: chatWire([{ choices: [{ index: 0, delta: { role: 'assistant', content: '' } }] }], ''),
  messages: messagesWire([
    { type: 'message_start', message: { id: 'm', usage: USAGE } },
    { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
  ]),
  responses: messagesWire([
    { type: 'response.created', response: { id: 'resp_1', object: 'response', output: [] } },
    {
      ...{ type: 'response.output_item.added', output_index: 0 },
      item: { type: 'message', id: 'msg_1', role: 'assistant', content: [] },
    },
  ]),
  gemini: `data: ${JSON.stringify({ candidates: [{ content: { parts: [{ text: '' }] } }] })}\n\n`,
};
const PINGS: typeof OPENINGS = {
  ...{ chat: ': ping\n\n', responses: ': ping\n\n', gemini: ': ping\n\n' },
  messages: messagesWire([{ type: 'ping' }]),
};
const IDLE_MS = 60_000;
/** Timers of that length before the first read: the log line of a request that runs for a minute. */
const OTHER_TIMERS = 1;

/** A router on a stalling target and a healthy one; `reads` counts those for which the router waits. */
const startStalled = async (protocol: Wire) => {
  const counting = createCountingClock(Date.UTC(2026, 10, 21, 12));
  let reads = 0;
  const clock: typeof counting = {
    ...counting,
    after: (ms, action) => {
      if (ms === IDLE_MS) reads += 1;
      return counting.after(ms, action);
    },
  };
  const held: ServerResponse[] = [];
  const stall: Act = (response) => {
    held.push(response);
    response.writeHead(200, { 'content-type': 'text/event-stream' }).write(OPENINGS[protocol]);
  };
  const [stalled, healthy] = await Promise.all([startUpstream(stall), startUpstream(answer)]);
  const targets = [
    targetAt(stalled.url, { protocol, upstream: 'stalled' }),
    targetAt(healthy.url, { upstream: 'healthy' }),
  ];
  const fleet = await startFleet({
    models: [modelOn(targets)],
    clock,
    secret: CANARIES.upstreamKey,
  });
  onTestFinished(() => fleet.close());
  const ask = (family: CallerProtocolName, stream: boolean) =>
    send(fleet.urls[0] ?? '', PATHS[family], {
      method: 'POST',
      headers: { 'x-api-key': fleet.key },
      body: JSON.stringify({
        ...{ model: 'vendor/model', stream },
        ...conversationOf(family, [{ role: 'user', content: 'hi' }]),
      }),
    });
  return { clock, held, healthy, stalled, fleet, ask, reads: () => reads - OTHER_TIMERS };
};

const CELLS = WIRES.flatMap((wire) =>
  CALLER_PROTOCOLS.map((family, at) => [wire, family, at !== WIRES.indexOf(wire) % 2] as const),
);

test.each(CELLS)(
  'an upstream of %s that opens and then only pings is left after 30 s for a caller of %s, streamed: %s',
  async (protocol, family, stream) => {
    const { clock, held, healthy, stalled, fleet, ask, reads } = await startStalled(protocol);
    const asked = ask(family, stream);
    // What is sent with the head is there when it is read.
    await expect.poll(reads).toBe(1);
    for (let ping = 1; ping <= 5; ping += 1) {
      clock.advance(5_000);
      held[0]?.write(PINGS[protocol]);
      await expect.poll(reads).toBe(1 + ping);
    }
    expect(healthy.attempts).toBe(0);
    clock.advance(5_000);
    const sent = await asked;
    expect(sent.text).toContain('Hello');
    expect([stalled.attempts, healthy.attempts]).toEqual([1, 1]);
    expect(await fleet.charged()).toBe(1);
    await expect.poll(() => stalled.sockets.size).toBe(0);
  },
);
