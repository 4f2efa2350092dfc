/** What the benchmarks of streams share: a recorded upstream stream, and the CPU of one event of it. */
import type { ResponseMeta } from '../lambdas/protocols/generation.ts';
import type { CallerProtocol } from '../lambdas/protocols/protocol.ts';
import { formatSse } from '../lambdas/protocols/streams/sse.ts';

export const EVENTS = 20_000;
const ROUNDS = 7;

export const META: ResponseMeta = {
  id: 'x'.repeat(24),
  model: 'vendor/model',
  created: 1,
  now: () => 1,
  estimateInput: () => 10,
};

export const BODY = {
  model: 'vendor/model',
  max_tokens: 9,
  stream: true,
  messages: [{ role: 'user', content: 'hi' }],
};

/** A long text response as an upstream of the protocol streams it, in network chunks. */
export const recordChunks = (
  protocol: CallerProtocol,
  eventsPerChunk: number,
  events = EVENTS,
): Buffer[] => {
  const encoder = protocol.streamEncoder(protocol.decodeRequest(BODY), META);
  const delta = { type: 'block-delta' as const, index: 0, delta: ' word' };
  const texts = [
    ...encoder.push({ type: 'start' }),
    ...encoder.push({ type: 'block-start', index: 0, block: { type: 'text' } }),
    ...Array.from({ length: events }, () => encoder.push(delta)).flat(),
    ...encoder.push({ type: 'block-end', index: 0 }),
    ...encoder.push({ type: 'finish', reason: { unified: 'stop' }, usage: undefined }),
  ].map(formatSse);
  return Array.from({ length: Math.ceil(texts.length / eventsPerChunk) }, (_, index) =>
    Buffer.from(texts.slice(index * eventsPerChunk, (index + 1) * eventsPerChunk).join('')),
  );
};

/** The best of some rounds, in microseconds of CPU per event. `run` returns the bytes it has written. */
export const costPerEvent = async (run: () => number | Promise<number>): Promise<number> => {
  const rounds: number[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    const before = process.cpuUsage();
    const bytes = await run();
    if (bytes < EVENTS) throw new Error('the response is too short');
    const { user, system } = process.cpuUsage(before);
    rounds.push((user + system) / EVENTS);
  }
  return Math.min(...rounds);
};

export const print = (line: string) => process.stdout.write(`${line}\n`);
