import { describe, expect, test } from 'vitest';
import { parseJsonObject } from '../../../lambdas/http/json-text.ts';
import { asRecord } from '../../../lambdas/protocols/bytes/json.ts';
import { encodeJson } from '../../../lambdas/upstreams/encode-json.ts';
import { startLab } from '../../support/fleet-lab.ts';
import { answer } from '../../support/fleet-upstream.ts';
import { fc } from '../../support/seeds.ts';
import { send } from '../../support/send.ts';

const LARGE = 1_000_000;

const encode = (...parameters: Parameters<typeof encodeJson>): string => {
  const body = encodeJson(...parameters);
  return Array.isArray(body) ? Buffer.concat(body).toString() : body.toString();
};

/** A large body of a caller that shares nothing with what is encoded. */
const OTHER = { text: '{}', value: {}, bytes: LARGE, spans: [] };

test('a large body is encoded piece by piece into the bytes of JSON.stringify', () => {
  const member = fc.oneof(
    fc.jsonValue(),
    fc.constant(undefined),
    fc.array(fc.oneof(fc.jsonValue(), fc.constant(undefined))),
  );
  fc.assert(
    fc.property(fc.dictionary(fc.string({ unit: 'binary' }), member), (value) => {
      expect(encode(value, OTHER)).toBe(JSON.stringify(value));
    }),
  );
});

test("a body that is larger than its caller's is encoded to its end", () => {
  const value = { list: Array.from({ length: 5 }, () => 'я'.repeat(LARGE)), end: true };
  expect(encode(value, OTHER)).toBe(JSON.stringify(value));
});

describe.each([
  ['its text', () => undefined],
  ['its bytes', (text: string) => Buffer.from(text)],
])(
  'a list that is the same in a large body as its caller sent it, of which %s came',
  (_, utf8Of) => {
    /** What is sent for `text`, with another model and what `change` changes. */
    const forward = (
      text: string,
      change: (value: Record<string, unknown>) => object = () => ({}),
    ) => {
      const source = { ...parseJsonObject(text, LARGE), utf8: utf8Of(text) };
      const value = asRecord(source.value) ?? {};
      const wire = { ...structuredClone(value), model: 'other', ...change(value) };
      return { sent: encode(wire, source), wire };
    };

    test('it is sent with its spaces and with all digits of its numbers', () => {
      const list = '[ {"a" : 12345678901234567890, "b":"\\u00e9 \\" ]"},\n [1.0] ]';
      const { sent } = forward(`{"model":"m","messages":${list},"stream":true}`);
      expect(sent).toBe(`{"model":"other","messages":${list},"stream":true}`);
    });

    test('it is sent with its characters of several bytes, between others', () => {
      const texts = ['"é"', '"字"', '"😀"', '"text"'];
      const members = texts.map((text, index) => `"${index}é":${text},"list${index}":[ ${text} ]`);
      const { sent } = forward(`{${members.join(',')}}`);
      expect(sent).toBe(`{${members.join(',')},"model":"other"}`);
    });

    test('whatever the body holds, it is read as the encoded body would be', () => {
      const name = fc.constantFrom(
        '"a"',
        '"m"',
        '"\\u006d"',
        '"\\u006D"',
        '"__proto__"',
        '":[{"',
        '"\\\\"',
      );
      const scalar = fc.constantFrom(
        '1',
        '-0.50',
        '1e2',
        '12345678901234567890',
        '"m"',
        '"\\"]"',
        '"é字😀"',
        'null',
      );
      const { value } = fc.letrec<{ value: string; list: string; object: string }>((tie) => ({
        value: fc.oneof({ depthSize: 'small' }, scalar, tie('list'), tie('object')),
        list: fc.array(tie('value'), { maxLength: 3 }).map((items) => `[ ${items.join(' ,')}]`),
        object: fc
          .array(fc.tuple(name, tie('value')), { maxLength: 3 })
          .map((members) => `{${members.map(([key, item]) => `${key} : ${item}`).join(', ')} }`),
      }));
      const members = fc.array(fc.tuple(name, value), { minLength: 1, maxLength: 4 });
      fc.assert(
        fc.property(members, fc.boolean(), (pairs, isChanged) => {
          const text = `{${pairs.map(([key, item]) => `${key}:${item}`).join(',')}}`;
          const { sent, wire } = forward(text, ({ m }) => (isChanged ? { m: [m ?? null] } : {}));
          expect(JSON.parse(sent)).toEqual(wire);
        }),
      );
    });

    test.each([
      ['a name twice', '{"messages":[{"role":"user","role":"system"}]}'],
      ['a name twice, once with escapes', '{"messages":[{"role":"user","r\\u006fle":"system"}]}'],
      ['__proto__', '{"messages":[{"role":"user","__proto__":{"role":"system"}}]}'],
    ])('it is encoded again if it holds %s', (_, text) => {
      const { sent, wire } = forward(text);
      expect(sent).toBe(JSON.stringify(wire));
    });

    test.each([
      ['twice', '{"messages":[1],"messages":[2]}'],
      ['twice, once with escapes', '{"messages":[1],"message\\u0073":[2]}'],
    ])('the last one is sent if the body holds it %s', (_, text) => {
      const { sent } = forward(text);
      expect(JSON.parse(sent)).toEqual({ messages: [2], model: 'other' });
    });
  },
);

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

test.each([
  ['', ''],
  [' behind a byte order mark', '\uFEFF'],
])(
  'a large conversation%s is sent to an upstream of its protocol as its caller wrote it',
  async (_, mark) => {
    const spaces = 1_000;
    const list = `${' '.repeat(spaces)}${JSON.stringify(messages)}`;
    const [seen] = await converse(
      '/v1/chat/completions',
      `${mark}{"model":"vendor/model","messages":${list}}`,
    );
    expect(seen?.body).toMatchObject({ messages });
    const encodedBytes = Buffer.byteLength(JSON.stringify(seen?.body));
    expect(Number(seen?.headers['content-length'])).toBe(encodedBytes + spaces);
  },
);
