import type { ServerResponse } from 'node:http';
import { describe, expect, onTestFinished, test } from 'vitest';
import { createJsonService } from '../../../lambdas/aws/json-service.ts';
import type { AwsCredentials } from '../../../lambdas/aws/sign.ts';
import type { AwsError } from '../../../lambdas/aws/signed-client.ts';
import { rejection } from '../../support/error-of.ts';
import { createManualClock } from '../../support/manual-clock.ts';
import { startMisbehaving } from '../../support/misbehaving-server.ts';
import { verifySignature } from '../../support/verify-signature.ts';

const NOW = Date.parse('2026-11-21T11:30:00Z');
const MINUTE = 60_000;
const SECRET = 'wJalrXUtnFEMI/K7MDENG';

type Act = (response: ServerResponse, count: number) => void;

/** A service whose answers the test writes, and a client of it with a manual clock. */
const setUp = async (act: Act) => {
  const server = await startMisbehaving((response, _, count) => act(response, count));
  const clock = createManualClock(NOW);
  let credentials: AwsCredentials = { accessKeyId: 'AKID1', secretAccessKey: SECRET };
  const service = createJsonService(
    {
      service: 'dynamodb',
      targetPrefix: 'DynamoDB_20120810',
      version: '1.0',
      timeouts: { connectMs: 300, requestMs: 1_000 },
    },
    {
      region: 'eu-west-1',
      credentials: async () => credentials,
      endpoint: server.url,
      clock,
    },
  );
  onTestFinished(() => service.destroy());
  const dateOf = (index: number) => String(server.seen[index]?.headers['x-amz-date']);
  return {
    ...{ clock, server, service, dateOf },
    rotate: (next: AwsCredentials) => {
      credentials = next;
    },
    verdictOf: (index: number) => {
      const seen = server.seen[index];
      return seen && verifySignature(seen, JSON.stringify(seen.body), SECRET);
    },
  };
};

const ok: Act = (response) => response.end('{"Item":{}}');
const error = (response: ServerResponse, status: number, type: string, headers = {}) =>
  response.writeHead(status, headers).end(JSON.stringify({ __type: type, message: 'private' }));
const skewed = (response: ServerResponse, date: number, type = 'InvalidSignatureException') =>
  error(response, 400, `com.amazon.coral.service#${type}`, { date: new Date(date).toUTCString() });

describe('a call of an AWS service', () => {
  test('a call is a POST in the JSON protocol whose signature AWS would accept', async () => {
    const { service, server, verdictOf } = await setUp(ok);
    expect(await service.call('GetItem', { TableName: 'täble' })).toEqual({ Item: {} });
    expect(server.seen[0]).toMatchObject({
      method: 'POST',
      url: '/',
      body: { TableName: 'täble' },
      headers: {
        'content-type': 'application/x-amz-json-1.0',
        'content-length': '22',
        'x-amz-target': 'DynamoDB_20120810.GetItem',
        'x-amz-date': '20261121T113000Z',
      },
    });
    expect(verdictOf(0)).toEqual({
      ...{ accessKeyId: 'AKID1', region: 'eu-west-1', service: 'dynamodb', isValid: true },
    });
  });

  test('rotated credentials and their session token sign the next call', async () => {
    const { service, server, rotate, verdictOf } = await setUp(ok);
    await service.call('GetItem', {});
    rotate({ accessKeyId: 'AKID2', secretAccessKey: SECRET, sessionToken: 'token of the role' });
    await service.call('GetItem', {});
    expect(server.seen[0]?.headers['x-amz-security-token']).toBeUndefined();
    expect(server.seen[1]?.headers['x-amz-security-token']).toBe('token of the role');
    expect(server.seen[1]?.headers.authorization).toContain(';x-amz-security-token;');
    expect(verdictOf(1)).toMatchObject({ accessKeyId: 'AKID2', isValid: true });
  });

  test('a signature is made for the day of the call, also after midnight', async () => {
    const { service, clock, verdictOf, dateOf } = await setUp(ok);
    await service.call('GetItem', {});
    clock.advance(13 * 60 * MINUTE);
    await service.call('GetItem', {});
    expect(dateOf(1)).toBe('20261122T003000Z');
    expect(verdictOf(1)).toMatchObject({ isValid: true });
  });

  test('calls in a row share one connection', async () => {
    const { service, server } = await setUp(ok);
    for (let count = 0; count < 5; count += 1) await service.call('GetItem', {});
    expect(server.seen).toHaveLength(5);
    expect(server.sockets.size).toBe(1);
  });
});

describe('the time of an AWS service', () => {
  test('a signature rejected for a wrong time is repeated once with the time of AWS, which is kept', async () => {
    const { service, server, dateOf, clock } = await setUp((response, count) =>
      count === 1 ? skewed(response, NOW + 20 * MINUTE) : ok(response, count),
    );
    expect(await service.call('GetItem', {})).toEqual({ Item: {} });
    clock.advance(MINUTE);
    await service.call('GetItem', {});
    expect(server.seen).toHaveLength(3);
    expect([0, 1, 2].map(dateOf)).toEqual([
      '20261121T113000Z',
      '20261121T115000Z',
      '20261121T115100Z',
    ]);
  });

  test('calls at once that are rejected for a wrong time correct it once', async () => {
    const right = '20261121T115000Z';
    const { service, server, dateOf } = await setUp((response, count) =>
      dateOf(count - 1) === right ? ok(response, count) : skewed(response, NOW + 20 * MINUTE),
    );
    const calls = Array.from({ length: 4 }, () => service.call('GetItem', {}));
    expect(await Promise.all(calls)).toEqual(calls.map(() => ({ Item: {} })));
    await service.call('GetItem', {});
    expect(server.seen).toHaveLength(9);
  });

  test('a signature rejected twice for a wrong time fails after two calls', async () => {
    const { service, server } = await setUp((response, count) =>
      skewed(response, NOW + count * 20 * MINUTE, 'RequestExpired'),
    );
    const failure = await rejection<AwsError>(service.call('GetItem', {}));
    expect(failure).toMatchObject({ name: 'RequestExpired', status: 400 });
    expect(server.seen).toHaveLength(2);
  });

  test.each([
    ['an expired token', 'ExpiredTokenException', 20 * MINUTE],
    ['a wrong signature at the right time', 'InvalidSignatureException', MINUTE],
  ])('a call refused for %s is not repeated', async (_, type, skew) => {
    const { service, server, dateOf } = await setUp((response) =>
      skewed(response, NOW + skew, type),
    );
    for (const count of [1, 2]) {
      const failure = await rejection<AwsError>(service.call('GetItem', {}));
      expect(failure).toMatchObject({ name: type, status: 400 });
      expect(server.seen).toHaveLength(count);
    }
    expect(dateOf(1)).toBe('20261121T113000Z');
  });
});

describe('an error of an AWS service', () => {
  test.each([
    ['a type with a namespace', 400, { __type: 'com.amazonaws.dynamodb.v20120810#Throttled' }, {}],
    ['a type without one', 400, { __type: 'Throttled' }, {}],
    ['a header with an address', 500, {}, { 'x-amzn-errortype': 'Throttled:http://internal/x#y' }],
    ['a code', 400, { code: 'Throttled' }, {}],
  ])(
    'the name of an error is read from %s, its text stays private',
    async (_, status, body, headers) => {
      const { service } = await setUp((response) =>
        response.writeHead(status, headers).end(JSON.stringify({ ...body, message: 'canary' })),
      );
      const failure = await rejection<AwsError>(service.call('GetItem', {}));
      expect(failure).toMatchObject({ name: 'Throttled', status });
      expect(failure.message).not.toContain('canary');
    },
  );

  test.each(['<html>502</html>', '', '[]', '{"__type":7}'])(
    'an error that is not in the JSON protocol keeps its status: %s',
    async (text) => {
      const { service } = await setUp((response) => response.writeHead(502).end(text));
      expect(await rejection<AwsError>(service.call('GetItem', {}))).toMatchObject({ status: 502 });
    },
  );

  test.each(['<html>', '', '[]', '{"Item":'])(
    'a success without a JSON object is an error without a status, so its outcome is unknown: %s',
    async (text) => {
      const { service } = await setUp((response) => response.end(text));
      const failure = await rejection<AwsError>(service.call('UpdateItem', {}));
      expect(failure).toBeInstanceOf(Error);
      expect(failure.status).toBeUndefined();
    },
  );

  test('a redirect is an error and is not followed', async () => {
    const { service, server } = await setUp((response) =>
      response.writeHead(307, { location: server.url }).end(),
    );
    expect(await rejection<AwsError>(service.call('GetItem', {}))).toMatchObject({ status: 307 });
    expect(server.seen).toHaveLength(1);
  });
});

describe('a call without a response', () => {
  const silent: Act = () => undefined;
  const untilSeen = (seen: unknown[], count: number) => expect.poll(() => seen.length).toBe(count);

  test('a silent service fails the call after its second, and the connection is closed', async () => {
    const { service, server, clock } = await setUp(silent);
    const failure = rejection<Error>(service.call('UpdateItem', {}));
    await untilSeen(server.seen, 1);
    clock.advance(1_000);
    expect(await failure).toMatchObject({ name: 'TimeoutError' });
    await expect.poll(() => server.sockets.size).toBe(0);
  });

  test('a body that stops in the middle fails the call after its second', async () => {
    const { service, server, clock } = await setUp((response) => {
      response.writeHead(200, { 'content-length': '100' }).write('{"Item":');
    });
    const failure = rejection<Error>(service.call('UpdateItem', {}));
    await untilSeen(server.seen, 1);
    clock.advance(1_000);
    expect(await failure).toMatchObject({ name: 'TimeoutError' });
  });

  test('a late response never answers the next call', async () => {
    const held: ServerResponse[] = [];
    const { service, server, clock } = await setUp((response, count) => {
      if (count === 1) held.push(response);
      else response.end('{"Item":{"is":"second"}}');
    });
    const first = rejection<Error>(service.call('GetItem', {}));
    await untilSeen(server.seen, 1);
    clock.advance(1_000);
    await first;
    held[0]?.end('{"Item":{"is":"first"}}');
    expect(await service.call('GetItem', {})).toEqual({ Item: { is: 'second' } });
  });

  test.each([
    ['before the response', (response: ServerResponse) => response.destroy()],
    [
      'in the middle of the response',
      (response: ServerResponse) => {
        response.writeHead(200, { 'content-length': '100' }).write('{"Item":');
        response.destroy();
      },
    ],
  ])('a connection that is closed %s fails the call at once, once', async (_, act) => {
    const { service, server } = await setUp(act);
    const failure = await rejection<AwsError>(service.call('UpdateItem', {}));
    expect(failure.status).toBeUndefined();
    expect(server.seen).toHaveLength(1);
  });

  test('a service that nothing listens for fails the call at once', async () => {
    const { service, server } = await setUp(ok);
    await server.close();
    expect(await rejection(service.call('GetItem', {}))).toMatchObject({ code: 'ECONNREFUSED' });
  });

  test('an aborted call rejects with the reason of its signal and closes its connection', async () => {
    const { service, server } = await setUp(silent);
    const caller = new AbortController();
    const failure = rejection<Error>(service.call('GetItem', {}, caller.signal));
    await untilSeen(server.seen, 1);
    caller.abort(new Error('too late'));
    expect(await failure).toMatchObject({ message: 'too late' });
    await expect.poll(() => server.sockets.size).toBe(0);
  });
});
