import { randomBytes } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { expect } from 'vitest';
import type { ConsoleParts } from '../../lambdas/admin/console.ts';
import type { AdminHandler } from '../../lambdas/admin/create-admin-handler.ts';
import { identify } from '../../lambdas/admin/identify.ts';
import type { Members } from '../../lambdas/admin/operation.ts';
import type { Model } from '../../lambdas/catalog/catalog.ts';
import { createAdmin } from '../../lambdas/create-admin.ts';
import { createDynamoProjectStore } from '../../lambdas/stores/dynamo/project-store.ts';
import { type Clock, systemClock } from '../../lambdas/support/clock.ts';
import { createLog } from '../../lambdas/support/log.ts';
import { createHttpUpstream } from '../../lambdas/upstreams/http-upstream.ts';
import { storesOn, TABLE_NAMES, type TestDynamo } from './dynamo.ts';
import { fixedSecrets } from './fixed-secrets.ts';
import { restApiEvent } from './rest-api-event.ts';

export const OPERATOR = 'arn:aws:iam::000000000000:user/olga';

/** Whom API Gateway has authenticated: an IAM caller, a user of a Cognito pool, or no one. */
export type Authenticated = { userArn: string } | { claims: Record<string, string> } | undefined;

/** A user of the pool in these groups. */
export const userIn = (...groups: string[]): { claims: Record<string, string> } => ({
  claims: {
    sub: 'a0b1',
    email: 'user@acme.example',
    email_verified: 'true',
    ...(groups.length > 0 && { 'cognito:groups': groups.join(',') }),
  },
});

export type Sent = {
  method?: string;
  /** With its query. */
  path: string;
  body?: string;
  by?: Authenticated;
};

/** The event in which API Gateway would deliver the request, signed by the operator by default. */
const eventOf = (sent: Sent) => {
  const { method = 'GET', path, body = '' } = sent;
  const by: Authenticated = 'by' in sent ? sent.by : { userArn: OPERATOR };
  const rawHeaders = ['Host', 'router.test', 'Content-Type', 'application/json'];
  const headers = { host: 'router.test' };
  const socket = { remoteAddress: '127.0.0.1' };
  const request = { method, url: path, rawHeaders, headers, httpVersion: '1.1', socket };
  const event = restApiEvent(request as unknown as IncomingMessage, Buffer.from(body), 0);
  if (by && 'userArn' in by) event.requestContext.identity.userArn = by.userArn;
  if (by && 'claims' in by) event.requestContext.authorizer = { claims: by.claims };
  return event;
};

export type AdminBench = {
  handler: AdminHandler;
  lines: string[];
  send(sent: Sent): Promise<{ status: number; headers: Record<string, string>; body: unknown }>;
  post(path: string, body: object, by?: Authenticated): ReturnType<AdminBench['send']>;
};

/** The admin function on a DynamoDB, called with the events of the REST API. */
export const adminOn = (
  client: TestDynamo['client'],
  {
    clock = systemClock,
    models = [],
    console,
    members,
  }: { clock?: Clock; models?: Model[]; console?: ConsoleParts; members?: Members } = {},
): AdminBench => {
  const lines: string[] = [];
  const secrets = fixedSecrets('secret');
  const { handler } = createAdmin({
    ...storesOn(client),
    models,
    console,
    lessons: { readLessons: async () => ({}) },
    secrets,
    upstream: createHttpUpstream({ secrets, clock }),
    projects: createDynamoProjectStore({ client, tableName: TABLE_NAMES.projects }),
    identify,
    members,
    log: createLog((line) => lines.push(line)),
    clock,
    randomBytes,
  });
  const send: AdminBench['send'] = async (sent) => {
    const { statusCode, headers, body } = await handler(eventOf(sent), {});
    expect(typeof body).toBe('string');
    const isJson = String(headers['content-type']).includes('json');
    const parsed: unknown = isJson ? JSON.parse(String(body)) : body;
    return { status: statusCode, headers, body: parsed };
  };
  const post: AdminBench['post'] = (path, body, by = { userArn: OPERATOR }) =>
    send({ method: 'POST', path, body: JSON.stringify(body), by });
  return { handler, lines, send, post };
};
