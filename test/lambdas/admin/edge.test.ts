import { randomBytes } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { APIGatewayProxyEvent } from 'aws-lambda';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { iamOperator } from '../../../lambdas/admin/iam-operator.ts';
import { createAdmin } from '../../../lambdas/create-admin.ts';
import { createDynamoProjectStore } from '../../../lambdas/stores/dynamo/project-store.ts';
import { systemClock } from '../../../lambdas/support/clock.ts';
import { createLog } from '../../../lambdas/support/log.ts';
import { createHttpUpstream } from '../../../lambdas/upstreams/http-upstream.ts';
import {
  createUnreachableClient,
  startDynamo,
  storesOn,
  TABLE_NAMES,
  type TestDynamo,
} from '../../support/dynamo.ts';
import { fixedSecrets } from '../../support/fixed-secrets.ts';
import { restApiEvent } from '../../support/rest-api-event.ts';

const OPERATOR = 'arn:aws:iam::000000000000:user/olga';

const lines: string[] = [];

const adminOn = (client: TestDynamo['client']) =>
  createAdmin({
    ...storesOn(client),
    models: [],
    secrets: fixedSecrets('secret'),
    upstream: createHttpUpstream({ secrets: fixedSecrets('secret'), clock: systemClock }),
    projects: createDynamoProjectStore({ client, tableName: TABLE_NAMES.projects }),
    operatorOf: iamOperator,
    log: createLog((line) => lines.push(line)),
    clock: systemClock,
    randomBytes,
  }).handler;

let dynamo: TestDynamo;
let admin: ReturnType<typeof adminOn>;
beforeAll(async () => {
  dynamo = await startDynamo();
  admin = adminOn(dynamo.client);
});
afterAll(() => dynamo.close());

type Sent = { method?: string; path: string; body?: string; userArn?: string | null };

/** The event in which API Gateway would deliver the request, signed by the operator by default. */
const eventOf = ({ method = 'GET', path, body = '', userArn = OPERATOR }: Sent) => {
  const rawHeaders = ['Host', 'router.test', 'Content-Type', 'application/json'];
  const request = {
    method,
    url: path,
    rawHeaders,
    headers: { host: 'router.test' },
    httpVersion: '1.1',
    socket: { remoteAddress: '127.0.0.1' },
  } as unknown as IncomingMessage;
  const event: APIGatewayProxyEvent = restApiEvent(request, Buffer.from(body), 0);
  event.requestContext.identity.userArn = userArn;
  return event;
};

const send = async (sent: Sent, handler = admin) => {
  const { statusCode, headers, body } = await handler(eventOf(sent), {});
  expect(typeof body).toBe('string');
  const parsed: unknown = JSON.parse(String(body));
  return { status: statusCode, headers, body: parsed };
};

const envelope = (message: unknown, type = 'invalid_request_error') => ({
  error: expect.objectContaining({ type, message }),
});

describe('the operator at the REST API', () => {
  test('an operator gets one JSON response with a request id', async () => {
    const { status, headers, body } = await send({ path: '/admin/projects' });
    expect({ status, body }).toEqual({ status: 200, body: { data: [] } });
    expect(headers).toMatchObject({
      'content-type': 'application/json',
      'x-request-id': expect.stringMatching(/^req_/),
    });
  });

  test('the log line names the operator and contains nothing of the body', async () => {
    lines.length = 0;
    const body = JSON.stringify({ id: 'quiet', name: 'A private name' });
    await send({ method: 'POST', path: '/admin/projects', body });
    expect(lines).toHaveLength(1);
    expect(JSON.parse(lines[0] ?? '')).toMatchObject({
      event: 'request',
      route: '/admin/projects',
      status: 201,
      operator: OPERATOR,
    });
    expect(lines.join('')).not.toContain('A private name');
  });

  test('a request without an IAM identity gets 403 on every path', async () => {
    for (const path of ['/admin/projects', '/admin/nothing']) {
      const { status, body } = await send({ path, userArn: null });
      expect(status).toBe(403);
      expect(body).toEqual(envelope(expect.stringContaining('AWS credentials')));
    }
  });
});

const post = (path: string, body: object) =>
  send({ method: 'POST', path, body: JSON.stringify(body) });

describe('concurrent operators', () => {
  const plan = { rpm: 5, quota: 50, period: 'day' };

  test('of twelve concurrent creations of one plan one gets 201 and eleven get 409', async () => {
    const rpms = Array.from({ length: 12 }, (_, index) => index);
    const sent = await Promise.all(
      rpms.map((rpm) => post('/admin/plans', { ...plan, id: 'contested', rpm })),
    );
    const [winner, ...others] = sent.toSorted((one, other) => one.status - other.status);
    expect([winner?.status, ...others.map(({ status }) => status)]).toEqual([
      201,
      ...Array(11).fill(409),
    ]);
    const { body } = await send({ path: '/admin/plans' });
    expect(body).toEqual({ data: expect.arrayContaining([winner?.body]) });
  });

  test('of two concurrent changes of one plan none is lost: the later one gets 409', async () => {
    await post('/admin/plans', { ...plan, id: 'changed' });
    const changes: object[] = [{ rpm: 6 }, { quota: 60 }, { models: null, period: 'hour' }];
    const sent = await Promise.all(changes.map((change) => post('/admin/plans/changed', change)));
    const applied = changes.filter((_, index) => sent[index]?.status === 200);
    expect(sent.every(({ status }) => status === 200 || status === 409)).toBe(true);
    expect(applied.length).toBeGreaterThanOrEqual(1);
    const { models: _, ...expected } = Object.assign(
      { ...plan, id: 'changed', models: null },
      ...applied,
    );
    const { body } = await send({ path: '/admin/plans' });
    expect(body).toEqual({ data: expect.arrayContaining([expected]) });
  });

  test('a seed that contains one id twice is rejected', async () => {
    const twice = { ...plan, id: 'twice' };
    const { status, body } = await post('/admin/apply', { plans: [twice, { ...twice, rpm: 9 }] });
    expect(status).toBe(400);
    expect(body).toEqual(envelope('plans: must not contain an id twice.'));
  });
});

test.each(['\u001b[31mred', 'two\nrows', 'a\u0000b', 'x\u202ey', 'x\u2028y', 'x\u009by'])(
  'a name that contains a control character is rejected: %j',
  async (name) => {
    const sent = await Promise.all([
      post('/admin/projects', { id: 'forged', name }),
      post('/admin/projects/forged/keys', { plan: 'p', name }),
    ]);
    for (const { status, body } of sent) {
      expect(status).toBe(400);
      expect(body).toEqual(envelope('name: must not contain control characters.'));
    }
  },
);

test('a name may contain letters of any script and joined emoji', async () => {
  const name = 'Équipe 東京 👩‍💻';
  const { status, body } = await post('/admin/projects', { id: 'any-script', name });
  expect([status, body]).toEqual([201, expect.objectContaining({ name })]);
});

describe('an error in the envelope of the chat protocol', () => {
  test.each([
    ['an unknown path', { path: '/admin/nothing' }, 404, /No such path/],
    ["the router's own path", { path: '/v1/models' }, 404, /No such path/],
    ['an empty segment', { path: '/admin/projects//keys' }, 404, /No such path/],
    ['a broken escape', { path: '/admin/projects/%zz/keys' }, 404, /No such path/],
    ['a method', { method: 'DELETE', path: '/admin/projects' }, 405, /Allowed: GET, POST/],
    ['no body', { method: 'POST', path: '/admin/projects' }, 400, /body is empty/],
    ['no JSON', { method: 'POST', path: '/admin/projects', body: '{' }, 400, /not valid JSON/],
    ['an unknown field', { method: 'POST', path: '/admin/plans', body: '{"rmp":1}' }, 400, /rmp/],
  ])('%s', async (_, sent, expected, message) => {
    const { status, body } = await send(sent);
    expect(status).toBe(expected);
    expect(body).toEqual(envelope(expect.stringMatching(message)));
  });

  test('unavailable tables are a 503 without their error text', async () => {
    const client = createUnreachableClient();
    const { status, body } = await send({ path: '/admin/projects' }, adminOn(client));
    expect(status).toBe(503);
    expect(body).toEqual(envelope(expect.stringMatching(/Storage unavailable/), 'api_error'));
    client.destroy();
  });
});
