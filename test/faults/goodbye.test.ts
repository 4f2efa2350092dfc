import type { ServerResponse } from 'node:http';
import { expect, test } from 'vitest';
import { createCountingClock } from '../support/counting-clock.ts';
import { startLab } from '../support/fleet-lab.ts';
import type { Act } from '../support/fleet-upstream.ts';
import { startUpstream } from '../support/fleet-upstream.ts';
import { modelOn, targetAt } from '../support/models.ts';
import { chatWire, messagesWire } from '../support/translate.ts';

const FINISHED = {
  chat: chatWire(
    [
      { choices: [{ index: 0, delta: { content: 'Hello' }, finish_reason: null }] },
      { choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] },
    ],
    '',
  ),
  messages: messagesWire([
    { type: 'message_start', message: { id: 'm', usage: { input_tokens: 7, output_tokens: 1 } } },
    { type: 'content_block_start', index: 0, content_block: { type: 'text', text: 'Hello' } },
    { type: 'content_block_stop', index: 0 },
    { type: 'message_delta', delta: { stop_reason: 'end_turn' } },
  ]),
};
const USAGE: typeof FINISHED = {
  chat: chatWire([{ choices: [], usage: { prompt_tokens: 7, completion_tokens: 4321 } }], ''),
  messages: messagesWire([{ type: 'message_delta', delta: {}, usage: { output_tokens: 4321 } }]),
};
const GOODBYE_MS = 2_000;

/** A router on an upstream that sends a finish reason and then nothing, on a connection that stays open. */
const startUnending = async (protocol: keyof typeof FINISHED) => {
  const held: ServerResponse[] = [];
  const act: Act = (response) => {
    held.push(response);
    response.writeHead(200, { 'content-type': 'text/event-stream' }).write(FINISHED[protocol]);
  };
  const upstream = await startUpstream(act);
  const clock = createCountingClock(Date.UTC(2026, 10, 21, 12));
  const models = [modelOn([targetAt(upstream.url, { protocol })])];
  const { askFor, fleet } = await startLab([act], { models, clock });
  const waiting = () => expect.poll(() => clock.waits()).toContain(GOODBYE_MS);
  return { held, upstream, clock, askFor, fleet, waiting };
};

const GRID = (['chat', 'messages'] as const).flatMap((protocol) =>
  [true, false].map((stream) => [protocol, stream] as const),
);

test.each(GRID)(
  'an upstream of %s that does not end after its finish is waited for 2 s, streamed: %s',
  async (protocol, stream) => {
    const { held, upstream, clock, askFor, fleet, waiting } = await startUnending(protocol);
    const asked = askFor({ stream });
    await waiting();
    clock.advance(1_500);
    held[0]?.write(USAGE[protocol]);
    await expect.poll(() => clock.waits()).toContain(500);
    clock.advance(500);
    const sent = await asked;
    expect(sent.text).toContain('Hello');
    expect(sent.text).toContain('"finish_reason":"stop"');
    expect(fleet.lines().findLast(({ event }) => event === 'request')).toMatchObject({
      status: 200,
      outcome: 'finished',
      outputTokens: 4_321,
    });
    expect(await fleet.charged()).toBe(1);
    await expect.poll(() => upstream.sockets.size).toBe(0);
    await expect.poll(() => clock.waits()).toEqual([]);
  },
);
