import { expect, test } from 'vitest';
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

test('a large body is encoded piece by piece into the bytes of JSON.stringify', () => {
  const member = fc.oneof(
    fc.jsonValue(),
    fc.constant(undefined),
    fc.array(fc.oneof(fc.jsonValue(), fc.constant(undefined))),
  );
  fc.assert(
    fc.property(fc.dictionary(fc.string({ unit: 'binary' }), member), (value) => {
      expect(encode(value, LARGE)).toBe(JSON.stringify(value));
    }),
  );
});

test("a body that is larger than its caller's is encoded to its end", () => {
  const value = { list: Array.from({ length: 5 }, () => 'я'.repeat(LARGE)), end: true };
  expect(encode(value, LARGE)).toBe(JSON.stringify(value));
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
