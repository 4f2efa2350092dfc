import { expect, test } from 'vitest';
import { createJsonFrame, jsonTemplate } from '../../../../lambdas/protocols/bytes/frame.ts';
import { readJson } from '../../../../lambdas/protocols/bytes/json.ts';

/** A text with each UTF-16 unit, also those that JSON escapes, and halves of a pair. */
const TEXTS = Array.from({ length: 0x1_0000 }, (_, unit) => `a${String.fromCharCode(unit)}b`);

/** Those that differ, as code points. */
const wrong = (texts: string[], isRight: (text: string) => boolean): string[] =>
  texts.filter((text) => !isRight(text)).map((text) => String(text.codePointAt(1)));

test('a template writes every text as JSON.stringify does', () => {
  const write = jsonTemplate((text) => JSON.stringify({ type: 'delta', text }));
  const texts = ['', '"', '\\', '\u{1f600}', '\u{1f600}x', ...TEXTS];
  expect(wrong(texts, (text) => write(text) === JSON.stringify({ type: 'delta', text }))).toEqual(
    [],
  );
});

test('a learned frame reads every literal as JSON.parse does, and none that is not JSON', () => {
  const frame = createJsonFrame();
  frame.learn('{"text":"first"}', 'first');
  const literals = TEXTS.flatMap((text) => [`"${text}"`, JSON.stringify(text)]);
  const all = [...literals, '"', '""', '"a', '"a\\"', '"a" "', '"a","b":"c"', '"\u{1f600}"'];
  const isRight = (literal: string) =>
    frame.read(`{"text":${literal}}`)?.string === readJson(literal);
  expect(wrong(all, isRight)).toEqual([]);
});
