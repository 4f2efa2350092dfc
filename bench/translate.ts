/**
 * CPU of translating one streamed event, upstream bytes in, caller's bytes out, for the four pairs of
 * protocols. The unit is the floor that any translation has: JSON.parse and JSON.stringify of the same
 * events. Run it with `npm run bench:translate`; ratios hold on any machine, microseconds do not.
 */
import type { GenerationRequest } from '../lambdas/protocols/generation.ts';
import type { CallerProtocol, UpstreamProtocol } from '../lambdas/protocols/protocol.ts';
import { CALLER_PROTOCOLS } from '../lambdas/protocols/protocol-name.ts';
import { callerProtocols, upstreamProtocols } from '../lambdas/protocols/protocols.ts';
import { createSseReader, formatSse } from '../lambdas/protocols/sse.ts';

const EVENTS = 20_000;
const EVENTS_PER_CHUNK = 8;
const ROUNDS = 7;

const LABEL = { id: 'x'.repeat(24), model: 'vendor/model', created: 1, estimatedInputTokens: 10 };
const BODY = { model: 'vendor/model', max_tokens: 9, messages: [{ role: 'user', content: 'hi' }] };

/** A long text answer as an upstream of the protocol streams it, in network chunks. */
const record = (protocol: CallerProtocol, request: GenerationRequest): Buffer[] => {
  const encoder = protocol.streamEncoder(request, LABEL);
  const delta = { type: 'block-delta' as const, index: 0, delta: ' word' };
  const texts = [
    ...encoder.push({ type: 'start' }),
    ...encoder.push({ type: 'block-start', index: 0, block: { type: 'text' } }),
    ...Array.from({ length: EVENTS }, () => encoder.push(delta)).flat(),
    ...encoder.push({ type: 'block-end', index: 0 }),
    ...encoder.push({ type: 'finish', reason: { unified: 'stop' }, usage: undefined }),
  ].map(formatSse);
  return Array.from({ length: Math.ceil(texts.length / EVENTS_PER_CHUNK) }, (_, i) =>
    Buffer.from(texts.slice(i * EVENTS_PER_CHUNK, (i + 1) * EVENTS_PER_CHUNK).join('')),
  );
};

const translate = (
  from: UpstreamProtocol,
  to: CallerProtocol,
  chunks: Buffer[],
  request: GenerationRequest,
): number => {
  const sse = createSseReader();
  const decoder = from.streamDecoder(request);
  const encoder = to.streamEncoder(request, LABEL);
  let bytes = 0;
  for (const chunk of chunks) {
    const events = sse.push(chunk).flatMap((message) => decoder.push(message));
    bytes += events.flatMap(encoder.push).map(formatSse).join('').length;
  }
  return bytes;
};

const floor = (chunks: Buffer[]): number => {
  const sse = createSseReader();
  let bytes = 0;
  for (const chunk of chunks) {
    for (const { data } of sse.push(chunk)) {
      if (data !== '[DONE]') bytes += JSON.stringify(JSON.parse(data)).length;
    }
  }
  return bytes;
};

/** The best of some rounds, in microseconds of CPU an event. */
const measure = (run: () => number): number => {
  const rounds: number[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    const before = process.cpuUsage();
    run();
    const { user, system } = process.cpuUsage(before);
    rounds.push((user + system) / EVENTS);
  }
  return Math.min(...rounds);
};

const print = (line: string) => process.stdout.write(`${line}\n`);

print('upstream -> caller     us/event   x parse+stringify');
for (const from of CALLER_PROTOCOLS) {
  for (const to of CALLER_PROTOCOLS) {
    const request = callerProtocols[to].decodeRequest(BODY);
    const chunks = record(callerProtocols[from], request);
    const base = measure(() => floor(chunks));
    const cost = measure(() =>
      translate(upstreamProtocols[from], callerProtocols[to], chunks, request),
    );
    const pair = `${from} -> ${to}`.padEnd(22);
    print(`${pair} ${cost.toFixed(2).padStart(8)}   ${(cost / base).toFixed(2).padStart(8)}`);
  }
}
