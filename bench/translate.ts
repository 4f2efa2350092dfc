/**
 * CPU of translating one streamed event, upstream bytes in, caller's bytes out, for the four pairs of
 * protocols. The unit is the floor that any translation has: JSON.parse and JSON.stringify of the same
 * events. Run it with `npm run bench:translate`; ratios hold on any machine, microseconds do not.
 */

import type { GenerationRequest } from '../lambdas/protocols/generation.ts';
import type { CallerProtocol, UpstreamProtocol } from '../lambdas/protocols/protocol.ts';
import { callerProtocols, upstreamProtocols } from '../lambdas/protocols/protocols.ts';
import { createSseReader, formatSse, withFrame } from '../lambdas/protocols/streams/sse.ts';
import { FAMILIES } from '../test/support/families.ts';
import { BODY, costPerEvent, META, print, recordChunks } from './event-cost.ts';

const EVENTS_PER_CHUNK = 8;

const translate = (
  from: UpstreamProtocol,
  to: CallerProtocol,
  chunks: Buffer[],
  request: GenerationRequest,
): number => {
  const sse = createSseReader();
  const decoder = withFrame(from.streamDecoder(request));
  const encoder = to.streamEncoder(request, META);
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

print('upstream -> caller     us/event   x parse+stringify');
for (const from of FAMILIES) {
  for (const to of FAMILIES) {
    const request = callerProtocols[to].decodeRequest(BODY);
    const chunks = recordChunks(callerProtocols[from], EVENTS_PER_CHUNK);
    const base = await costPerEvent(() => floor(chunks));
    const cost = await costPerEvent(() =>
      translate(upstreamProtocols[from], callerProtocols[to], chunks, request),
    );
    const pair = `${from} -> ${to}`.padEnd(22);
    print(`${pair} ${cost.toFixed(2).padStart(8)}   ${(cost / base).toFixed(2).padStart(8)}`);
  }
}
