import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { startLab, statusesOf } from '../../support/fleet-lab.ts';
import {
  type Act,
  answer,
  begin,
  breakOff,
  startUpstream,
  status,
} from '../../support/fleet-upstream.ts';

const reset: Act = (response) => void response.socket?.resetAndDestroy();

const OVERFLOW = new URL('../../fixtures/refusals/overflow-openai.json', import.meta.url);

const REFUSED_TEMPERATURE = new URL(
  '../../fixtures/refusals/other-anthropic-range.json',
  import.meta.url,
);

const overTheLimit: Act = (response) =>
  void response
    .writeHead(429, { 'content-type': 'application/json' })
    .end(
      '{"error":{"message":"Request too large for gpt-5 in organization org-abc123XYZ on tokens per min (TPM): Limit 30000, Requested 90412.","type":"tokens","code":"rate_limit_exceeded"}}',
    );

const tooLong: Act = (response) => void response.writeHead(400).end(readFileSync(OVERFLOW));

describe('of four targets', () => {
  test('at most three of four targets are called per request, in order, each once', async () => {
    const { upstreams, ask } = await startLab([status(500), reset, status(503), answer]);
    expect((await ask()).status).toBe(503);
    expect(upstreams.map(({ attempts }) => attempts)).toEqual([1, 1, 1, 0]);
  });

  test('the third target is not called while most attempts fail, until enough succeed again', async () => {
    const { upstreams, ask, askTimes, count } = await startLab([
      status(500),
      status(500),
      status(500),
    ]);
    const attempts = () => upstreams.map((upstream) => upstream.attempts);
    await ask();
    expect(attempts()).toEqual([1, 1, 1]);
    // Ten tokens, one less for each failure: above five is enough for a third attempt.
    await askTimes(3);
    expect(attempts()).toEqual([4, 4, 1]);
    const [first] = upstreams;
    if (first) first.act = answer;
    expect(statusesOf(await askTimes(80))).toEqual([200]);
    if (first) first.act = status(500);
    await ask();
    expect(attempts()).toEqual([85, 5, 2]);
    expect(count('request')).toBe(85);
  });
});

test('a redirect is a failure and is never followed', async () => {
  const bait = await startUpstream(answer);
  for (const code of [301, 302, 303, 307, 308]) {
    const redirect = status(code, { location: `${bait.url}/v1/chat/completions` });
    const { ask, primary, second } = await startLab([redirect, answer]);
    expect((await ask()).status).toBe(200);
    expect([primary.attempts, second?.attempts, bait.attempts]).toEqual([1, 1, 0]);
  }
});

test("an upstream's prompt-too-long error is a 400 without failover", async () => {
  const { ask, primary, second, fleet, count } = await startLab([tooLong, answer]);
  const sent = await ask();
  expect(sent.status).toBe(400);
  expect(JSON.parse(sent.text).error).toMatchObject({
    type: 'invalid_request_error',
    code: 'context_length_exceeded',
    message:
      "prompt is too long: 130001 tokens > 128000 maximum. This model's maximum context length is 128000 tokens. However, your messages resulted in 130001 tokens. Please reduce the length of the messages.",
  });
  expect([primary.attempts, second?.attempts]).toEqual([1, 0]);
  expect(await fleet.charged()).toBe(0);
  expect(count('breaker_opened')).toBe(0);
});

test.each([400, 422])(
  'a %i that names no field of the caller leads to the next target, and from the last one is a 400 with the reason',
  async (status) => {
    const message = 'Reasoning is mandatory for this endpoint and cannot be disabled.';
    const reject: Act = (response) =>
      void response.writeHead(status).end(JSON.stringify({ error: { message } }));
    const { ask, primary, second } = await startLab([reject, answer]);
    expect((await ask()).status).toBe(200);
    expect([primary.attempts, second?.attempts]).toEqual([1, 1]);
    const { ask: askAlone, count } = await startLab([reject]);
    const sent = await askAlone();
    expect(sent.status).toBe(400);
    expect(sent.headers).toMatchObject({ 'x-should-retry': 'false' });
    expect(JSON.parse(sent.text).error.message).toBe(
      `The model's provider rejected the request: ${message}`,
    );
    expect(count('breaker_opened')).toBe(0);
  },
);

describe('a refusal that names a parameter', () => {
  const refuse: Act = (response) =>
    void response.writeHead(400).end(readFileSync(REFUSED_TEMPERATURE));

  test.each([true, false])(
    'a rejected parameter that the caller sent is a 400, streamed: %s',
    async (stream) => {
      const { askFor, primary, second, fleet, count } = await startLab([refuse, answer]);
      const sent = await askFor({ stream, temperature: 2 });
      expect(sent.status).toBe(400);
      expect(JSON.parse(sent.text).error).toEqual({
        type: 'invalid_request_error',
        message: "The model's provider rejected the request: temperature: range: 0..1",
        param: 'temperature',
        code: null,
      });
      expect([primary.attempts, second?.attempts]).toEqual([1, 0]);
      expect(await fleet.charged()).toBe(0);
      expect(count('breaker_opened')).toBe(0);
    },
  );

  test('a rejected parameter that the caller never sent is a 502', async () => {
    const { ask } = await startLab([refuse]);
    expect((await ask()).status).toBe(502);
  });
});

test('a failure after the first content causes no failover, and the unit is refunded', async () => {
  const { ask, primary, second, fleet } = await startLab([breakOff, answer]);
  const sent = await ask();
  expect(sent.status).toBe(200);
  expect(sent.text).toContain('Hello');
  expect(sent.text).toContain('event: error\n');
  expect([primary.attempts, second?.attempts]).toEqual([1, 0]);
  expect(await fleet.charged()).toBe(0);
});

test('a target that has sent content is not abandoned for being slow', async () => {
  const { askAndHold, second } = await startLab([begin, answer]);
  const held = await askAndHold();
  expect(held.status).toBe(200);
  expect(second?.attempts).toBe(0);
  held.leave();
});

test("a prompt larger than the provider's rate limit is a 413 and holds off no other request of its key", async () => {
  const { ask, primary, second, count } = await startLab([overTheLimit, overTheLimit]);
  const sent = await ask();
  expect([sent.status, sent.headers['x-should-retry']]).toEqual([413, 'false']);
  expect(sent.text).toContain('Limit 30000, Requested 90412');
  expect(sent.text).not.toContain('org-abc123XYZ');
  expect([primary.attempts, second?.attempts]).toEqual([1, 1]);
  primary.act = answer;
  expect((await ask()).status).toBe(200);
  expect(count('key_held_off')).toBe(0);
});
