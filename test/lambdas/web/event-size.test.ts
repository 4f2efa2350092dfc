import { expect, test } from 'vitest';
import type { HttpEvent } from '../../../lambdas/http/read-event.ts';
import { eventBytes } from '../../../lambdas/web/event-size.ts';
import { fc } from '../../support/seeds.ts';

const eventOf = (body: string, isBase64Encoded: boolean): HttpEvent =>
  ({ version: '2.0', headers: { 'x-quote': '"' }, body, isBase64Encoded }) as unknown as HttpEvent;

const stringified = (event: HttpEvent) => Buffer.byteLength(JSON.stringify(event));

test('an event of text has as many bytes as its JSON', () => {
  const character = fc.oneof(
    fc.constantFrom('"', '\\', '\n', '\u0001', '\u001f', ' ', '\u007f', '\u0080', '\u2028', 'é'),
    fc.string({ unit: 'grapheme', minLength: 1, maxLength: 9 }),
  );
  fc.assert(
    fc.property(fc.string({ unit: character, maxLength: 40 }), (body) => {
      const event = eventOf(body, false);
      expect(eventBytes(event, Buffer.concat([Buffer.from(body)]))).toBe(stringified(event));
    }),
  );
});

test('each character of ASCII is counted as JSON writes it, at each place of a word', () => {
  for (const character of Array.from({ length: 128 }, (_, code) => String.fromCharCode(code))) {
    for (const before of ['', 'a', 'aa', 'aaa']) {
      const body = `${before}${character}aaaa`;
      const event = eventOf(body, false);
      expect(eventBytes(event, Buffer.concat([Buffer.from(body)]))).toBe(stringified(event));
    }
  }
});

test('an event of bytes in base64 has as many bytes as its JSON', () => {
  const body = Buffer.from([0, 1, 2, 0xff, 0x22]);
  const event = eventOf(body.toString('base64'), true);
  expect(eventBytes(event, body)).toBe(stringified(event));
});
