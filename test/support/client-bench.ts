import { expect } from 'vitest';
import {
  CALLER_PROTOCOLS,
  type CallerProtocolName,
} from '../../lambdas/protocols/protocol-name.ts';
import type { Fault } from '../../local/embedded-upstream/faults.ts';
import { createCountingClock } from './counting-clock.ts';
import { startFleet } from './fleet.ts';
import { startInstantUpstream } from './instant-upstream.ts';
import { CANARIES } from './leak-watch.ts';
import type { LogLine } from './log-line.ts';
import { modelOn, targetAt } from './models.ts';
import { openSocketsAt } from './open-sockets.ts';
import { connectTo, postBytes, type RawClient } from './raw-client.ts';
import { conversationOf, PATHS } from './request-forms.ts';
import { send } from './send.ts';

/** The protocol of the second target. */
const OTHER = { chat: 'messages', messages: 'chat', responses: 'gemini' } as const;

export type Question = {
  family: CallerProtocolName;
  stream: boolean;
  fault?: Fault;
  prompt?: string;
};

/** What a request has left behind, once it is over. */
export type Trace = {
  /** How each call of an upstream ended. */
  calls: string[];
  charged: number;
  /** Its log lines, the access line last. */
  lines: LogLine[];
};

/** A router whose clients misbehave; each model has a second, healthy target. */
export const startClientBench = async () => {
  const clock = createCountingClock(Date.UTC(2026, 10, 21, 12));
  const embedded = await startInstantUpstream(CANARIES.upstreamKey, clock);
  const models = CALLER_PROTOCOLS.map((family) =>
    modelOn(
      [family, OTHER[family]].map((protocol) =>
        targetAt(embedded.baseUrl(protocol), { protocol, upstream: protocol }),
      ),
      { id: `vendor/${family}` },
    ),
  );
  const fleet = await startFleet({ models, clock, secret: CANARIES.upstreamKey });
  const url = fleet.urls[0] ?? '';
  const upstreamUrl = new URL(embedded.baseUrl('chat')).origin;
  const { control } = embedded;

  const bodyOf = ({ family, stream, prompt = 'say one two three four five' }: Question) => ({
    ...{ model: `vendor/${family}`, stream },
    ...conversationOf(family, [{ role: 'user', content: prompt }], 100_000),
  });
  const bytesOf = (question: Question) =>
    postBytes(PATHS[question.family], fleet.key, bodyOf(question));

  const requestLines = () => fleet.lines().filter(({ event }) => event === 'request');

  /** Sends the request over a connection of its own. */
  const ask = async (question: Question): Promise<RawClient> => {
    if (question.fault) control.inject({ fault: question.fault, times: 1 });
    const client = await connectTo(url);
    client.socket.write(bytesOf(question));
    return client;
  };

  /** An ordinary answer to an ordinary client. */
  const expectNextAnswered = async (family: CallerProtocolName) => {
    const sent = await send(url, PATHS[family], {
      method: 'POST',
      headers: { 'x-api-key': fleet.key },
      body: JSON.stringify(bodyOf({ family, stream: false })),
    });
    expect(sent.status).toBe(200);
    expect(sent.text).toContain('one two three four five');
  };

  /** Runs `misbehave` and waits until nothing of its `requests` is left but their traces. */
  const traceOf = async (requests: number, misbehave: () => Promise<unknown>): Promise<Trace> => {
    control.reset();
    const [charged, written] = [await fleet.charged(), fleet.lines().length];
    const before = requestLines().length;
    await misbehave();
    await expect.poll(() => requestLines().length - before).toBe(requests);
    await expect
      .poll(() => control.calls.filter(({ outcome }) => outcome === 'open').length)
      .toBe(0);
    await expect.poll(() => openSocketsAt(url).length).toBe(0);
    await expect.poll(() => clock.waits()).toEqual([]);
    return {
      calls: control.calls.map(({ outcome }) => outcome),
      charged: (await fleet.charged()) - charged,
      lines: fleet.lines().slice(written),
    };
  };

  return {
    url,
    upstreamUrl,
    clock,
    control,
    ask,
    bytesOf,
    traceOf,
    expectNextAnswered,
    key: fleet.key,
    close: async () => {
      await fleet.close();
      await embedded.close();
    },
  };
};
