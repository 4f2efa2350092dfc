import { createParser } from 'eventsource-parser';
import { expect, test } from 'vitest';
import { createSseReader, type SseEvent } from '../../../lambdas/protocols/streams/sse.ts';
import { cpuMsOf } from '../../support/cpu-time.ts';
import { fc } from '../../support/seeds.ts';

/** The events of a text by an implementation of the standard that shares no code with the router. */
const byStandard = (text: string): SseEvent[] => {
  const events: SseEvent[] = [];
  const parser = createParser({
    onEvent: ({ event, data }) => events.push(event === undefined ? { data } : { event, data }),
  });
  parser.feed(`${text}\n\n`);
  return events;
};

/** Lines of every kind, with each of the three ends. */
const line = fc.oneof(
  fc.constantFrom('', 'data', 'data:', 'data: ', 'data:  two', ': comment', 'event', 'event:'),
  fc.constantFrom('id: 1', 'retry: 5', 'datax: 1', ' data: 1', 'data : 1', 'event: ping', ':'),
  fc.string({ unit: 'grapheme', maxLength: 12 }).map((text) => `data: ${text}`),
);
const text = fc
  .array(fc.tuple(line, fc.constantFrom('\n', '\r\n', '\r')), { maxLength: 12 })
  .map((lines) => lines.flat().join(''));

test('an SSE body gives the events of the standard, wherever its bytes are cut', () => {
  fc.assert(
    fc.property(text, fc.array(fc.nat(9), { minLength: 1, maxLength: 8 }), (body, sizes) => {
      const bytes = new TextEncoder().encode(body);
      const reader = createSseReader();
      const events: SseEvent[] = [];
      let from = 0;
      for (const size of sizes) {
        events.push(...reader.push(bytes.subarray(from, from + size)));
        from += size;
      }
      events.push(...reader.push(bytes.subarray(from)), ...reader.end());
      expect(events).toEqual(byStandard(body));
    }),
    { numRuns: 2_000 },
  );
});

test('an event of 4 MB in pieces of 1 KB is read in a second of CPU', () => {
  const reader = createSseReader();
  const piece = new TextEncoder().encode('x'.repeat(1024));
  const read = () => {
    reader.push(new TextEncoder().encode('data: '));
    for (let count = 0; count < 4096; count += 1) reader.push(piece);
    expect(reader.end()[0]?.data).toHaveLength(4096 * 1024);
  };
  expect(cpuMsOf(read)).toBeLessThan(1_000);
});
