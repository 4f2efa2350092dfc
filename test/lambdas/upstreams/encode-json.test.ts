import { expect, test } from 'vitest';
import { parseJsonObject } from '../../../lambdas/http/read-body.ts';
import type { Bytes } from '../../../lambdas/support/bytes.ts';
import { encodeJson } from '../../../lambdas/upstreams/send.ts';
import { startLab } from '../../support/fleet-lab.ts';
import { answer } from '../../support/fleet-upstream.ts';
import { fc } from '../../support/seeds.ts';
import { send } from '../../support/send.ts';

const textOf = (body: Bytes): string =>
  Array.isArray(body) ? Buffer.concat(body).toString() : body.toString();

/** A string of at least 512 characters in a spelling of its own: any of its characters may be an escape. */
const longString = fc
  .array(
    fc.constantFrom(
      'a',
      '\\"',
      '\\\\',
      '\\n',
      '\\u0041',
      '\\/',
      'é',
      '字',
      '😀',
      '\\ud83d\\ude00',
      '8',
    ),
    {
      minLength: 520,
      maxLength: 530,
    },
  )
  .map((parts) => `"${parts.join('')}"`);
const PADDING = JSON.stringify(`字${'x'.repeat(70_000)}`);

test('each long string of a large body is written in its order as it was received, and all else is the same JSON', () => {
  fc.assert(
    fc.property(fc.array(longString, { maxLength: 6 }), fc.jsonValue(), (strings, other) => {
      const text = `{"list":[${strings.map((string) => `{ "é" : ${string} }`).join()}],"p":${PADDING}}`;
      const utf8 = Buffer.from(text);
      const source = parseJsonObject(text, utf8.length);
      const { list, p } = JSON.parse(text);
      const value = { other, p, turned: list, undefined, back: list.toReversed() };
      const written = textOf(encodeJson(value, source));
      expect(textOf(encodeJson(value, parseJsonObject(utf8, utf8.length))) === written).toBe(true);
      expect(JSON.parse(written)).toEqual(JSON.parse(JSON.stringify(value)));
      for (const string of strings) expect(written.includes(`{"é":${string}}`)).toBe(true);
    }),
    { numRuns: 200 },
  );
});

test.each([{ half: '\ud8000' }, { '\ud8000': 'half' }, { m0: '\\u006d0' }, { '"\\u006d0"': 'm0' }])(
  'a short text in the arguments of a call, %o, stands for no other string',
  (short) => {
    const source = parseJsonObject(`{"long":${PADDING}}`, 70_011);
    const value = { short, long: `字${'x'.repeat(70_000)}` };
    expect(textOf(encodeJson(value, source)) === JSON.stringify(value)).toBe(true);
  },
);

test('long strings of an object whose names are indices, or that holds nothing under a name, stay at their names', () => {
  const [first, second, last] = ['a', 'b', 'c'].map((letter) => `字${letter.repeat(600)}`);
  const text = `{"list":[{"z":${JSON.stringify(first)},"1":${JSON.stringify(second)}}],"p":${PADDING}}`;
  const utf8 = Buffer.from(text);
  for (const raw of [text, utf8]) {
    const source = parseJsonObject(raw, utf8.length);
    expect(textOf(encodeJson({ of: source.value }, source))).toBe(
      JSON.stringify({ of: JSON.parse(text) }),
    );
  }
  const parsed = parseJsonObject(`{"a":${JSON.stringify(last)},"p":${PADDING}}`, utf8.length);
  const value = { none: undefined, ...(parsed.value as object) };
  expect(textOf(encodeJson(value, { ...parsed, value }))).toBe(JSON.stringify(value));
});

/** A conversation of 2 MB, and what a chat upstream gets of it. */
const converse = async (path: string, body: string) => {
  const { fleet, primary } = await startLab([answer]);
  const { status } = await send(fleet.urls[0] ?? '', path, {
    method: 'POST',
    headers: { authorization: `Bearer ${fleet.key}` },
    body,
  });
  expect(status).toBe(200);
  return primary.seen;
};

const messages = Array.from({ length: 101 }, (_, index) => ({
  role: index % 2 === 0 ? 'user' : 'assistant',
  content: `${index}: "Ünï" \\ \n`.repeat(1_200),
}));
const BODY = { model: 'vendor/model', max_tokens: 100, messages };

test.each(['/v1/chat/completions', '/v1/messages'])(
  'a conversation of 2 MB on %s reaches a chat upstream with each of its characters',
  async (path) => {
    const seen = await converse(path, JSON.stringify(BODY));
    expect(seen.map(({ body }) => body)).toMatchObject([{ messages }]);
  },
);
