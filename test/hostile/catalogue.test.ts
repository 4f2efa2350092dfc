import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { mintKey } from '../../lambdas/keys/api-key.ts';
import { createKeyLifecycle } from '../../lambdas/keys/lifecycle.ts';
import { systemClock } from '../../lambdas/support/clock.ts';
import type { ServerOptions } from '../../lambdas/web/server.ts';
import { type Fleet, startFleet } from '../support/fleet.ts';
import { functionUrlEvent } from '../support/function-url-event.ts';
import { startInstantUpstream } from '../support/instant-upstream.ts';
import { CANARIES } from '../support/leak-watch.ts';
import { modelOn, targetAt } from '../support/models.ts';
import { restApiEvent } from '../support/rest-api-event.ts';
import { checksAll } from '../support/seeds.ts';
import { type Sent, send } from '../support/send.ts';
import { type Draft, draftFor, type Keys, type On, type Row } from './draft.ts';
import { AUTH_ROWS } from './rows-auth.ts';
import { FIELD_ROWS } from './rows-fields.ts';
import { JSON_ROWS } from './rows-json.ts';
import { ROUTE_ROWS } from './rows-route.ts';
import { TRANSPORT_ROWS } from './rows-transport.ts';

/** What a public endpoint passes on as it came: the address, the headers and the bytes. */
const AT_EACH_FRONT: [string, Row[]][] = [
  ['keys', AUTH_ROWS],
  ['addresses', ROUTE_ROWS],
  ['transport', TRANSPORT_ROWS],
];
/** What is read of a body, which `npm test` asks at one public endpoint each, by turns. */
const AT_ONE_FRONT: [string, Row[]][] = [
  ['JSON', JSON_ROWS],
  ['fields', FIELD_ROWS],
];
const CHAPTERS = [...AT_EACH_FRONT, ...AT_ONE_FRONT];
const FRONTS: [string, ServerOptions['toEvent']][] = [
  ['a Function URL', functionUrlEvent],
  ['a REST API', restApiEvent],
  ['a Web Function', undefined],
];

/** Each row with the paths that it is asked at, at a front. */
const casesAt = (front: number, rows: Row[]) => {
  const isAsked = (index: number) =>
    checksAll || index % FRONTS.length === front || !AT_ONE_FRONT.some(([, own]) => own === rows);
  return rows
    .flatMap((row) => row.on.map((on) => [on, row.name, row] as const))
    .filter((_, index) => isAsked(index));
};

const TYPES: Record<number, string> = { 401: 'authentication_error' };

type Bench = { fleet: Fleet; keys: Keys; upstreamHost: string; close(): Promise<void> };

const keysOf = async (fleet: Fleet): Promise<Keys> => {
  const lifecycle = createKeyLifecycle({ ...fleet.stores, clock: systemClock, randomBytes });
  const create = (expiresAt?: number) =>
    lifecycle.create({
      projectId: 'project',
      planId: 'fleet',
      ...(expiresAt === undefined ? {} : { expiresAt }),
    });
  const [revoked, expired, inGrace, afterGrace, other] = await Promise.all([
    create(),
    create(systemClock.now() - 1),
    create(),
    create(),
    create(),
  ]);
  const refOf = ({ record: { projectId, keyId } }: typeof revoked) => ({ projectId, keyId });
  await lifecycle.revoke(refOf(revoked));
  await lifecycle.rotate({ ...refOf(inGrace), overlapMs: 3_600_000 });
  await lifecycle.rotate({ ...refOf(afterGrace), overlapMs: 0 });
  return {
    valid: fleet.key,
    other: other.key,
    unknown: mintKey(randomBytes),
    revoked: revoked.key,
    expired: expired.key,
    inGrace: inGrace.key,
    afterGrace: afterGrace.key,
  };
};

const startBench = async (toEvent: ServerOptions['toEvent']): Promise<Bench> => {
  const upstream = await startInstantUpstream(CANARIES.upstreamKey);
  const target = targetAt(upstream.baseUrl('chat'));
  const models = [
    modelOn([target]),
    modelOn([target], { id: 'vendor/eyes', vision: true }),
    modelOn([target], { id: 'vendor/mute', streaming: false, tools: false }),
  ];
  const fleet = await startFleet({
    models,
    clock: systemClock,
    toEvent,
    secret: CANARIES.upstreamKey,
  });
  return {
    fleet,
    keys: await keysOf(fleet),
    upstreamHost: new URL(upstream.baseUrl('chat')).host,
    close: async () => {
      await fleet.close();
      await upstream.close();
    },
  };
};

const expectIds = ({ headers }: Sent) => {
  expect(headers['x-request-id']).toMatch(/^req_[0-9A-Za-z]{24}$/);
  expect(headers['request-id']).toBe(headers['x-request-id']);
};

const expectEnvelope = (row: Row, { path, method }: Draft, { text, headers, status }: Sent) => {
  if (method === 'HEAD') return;
  const body: Record<string, unknown> = JSON.parse(text);
  const type = row.type ?? TYPES[status] ?? 'invalid_request_error';
  expect(body.error).toMatchObject({ type, message: expect.stringMatching(/.{10,}/) });
  if (path.startsWith('/v1/messages')) {
    expect(body).toMatchObject({ type: 'error', request_id: headers['x-request-id'] });
  } else expect(body).not.toHaveProperty('type');
};

const isCharged = (on: On, { status }: Sent): boolean =>
  status === 200 && (on === 'chat' || on === 'messages');

describe.each(FRONTS.map(([name, toEvent], front) => [name, toEvent, front] as const))(
  'behind %s',
  (_name, toEvent, front) => {
    let bench: Bench;
    let answered = '';
    let charges = 0;
    beforeAll(async () => {
      bench = await startBench(toEvent);
    });
    afterAll(() => bench.close());

    describe.each(CHAPTERS)('%s', (_chapter, rows) => {
      test.each(casesAt(front, rows))('%s: %s', async (on, _name, row) => {
        const { fleet, keys } = bench;
        const good = draftFor(on, keys);
        const draft = { ...good, ...row.change(good, keys) };
        const { method, headers, body } = draft;
        const sent = await send(fleet.urls[0] ?? '', draft.path, {
          method,
          headers,
          ...(body !== undefined && { body }),
        });
        answered += JSON.stringify(sent.headers) + sent.text;
        if (isCharged(on, sent)) charges += 1;
        expect(sent.status, sent.text.slice(0, 300)).toBe(row.status);
        expectIds(sent);
        if (sent.status >= 400) expectEnvelope(row, draft, sent);
      });
    });

    test('a refusal costs nothing, an answer one unit', async () => {
      expect(charges).toBeGreaterThan(20);
      // Another key with a meter of its own has answered as well.
      const charged = await bench.fleet.charged();
      const elsewhere = AUTH_ROWS.filter(({ name }) => name.startsWith('25')).length * 2;
      expect(charged).toBe(charges - elsewhere);
    });

    test('nothing of what must stay inside was answered or logged', () => {
      const { fleet, keys, upstreamHost } = bench;
      const everything = fleet.logText() + answered;
      for (const secret of [
        ...Object.values(keys),
        CANARIES.upstreamKey,
        upstreamHost,
        process.cwd(),
      ]) {
        expect(everything.includes(secret), secret).toBe(false);
      }
      expect(fleet.logText()).not.toContain('canary');
      expect({}).not.toHaveProperty('polluted');
    });
  },
);

const ROWS = CHAPTERS.flatMap(([, chapter]) => chapter);
const REQUESTS = ROWS.flatMap(({ on }) => on);

test(`the catalogue has ${ROWS.length} rows, ${REQUESTS.length} requests`, () => {
  expect(new Set(ROWS.map(({ name, on }) => `${on} ${name}`)).size).toBe(ROWS.length);
  expect(ROWS.length).toBeGreaterThanOrEqual(167);
  expect(REQUESTS.length).toBeGreaterThanOrEqual(400);
});
