import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import * as z from 'zod';
import { confirmedCaller, createAuthenticate } from '../../lambdas/keys/authenticate.ts';
import { createLog } from '../../lambdas/support/log.ts';
import { type AdminBench, adminOn } from '../support/admin-bench.ts';
import { startDynamo, storesOn, type TestDynamo } from '../support/dynamo.ts';
import { createManualClock, type ManualClock } from '../support/manual-clock.ts';
import { modelOn } from '../support/models.ts';
import { createPrevious, PREVIOUS, type Previous } from './previous.ts';

const START = Date.parse('2026-11-21T11:30:00Z');
const NewKey = z.looseObject({ id: z.string(), key: z.string() });
const MODELS = ['a/one', 'a/two'].map((id) => modelOn([], { id }));

/** Keys and plans of this release and of the one before on the same tables. */
describe(`keys and plans next to ${PREVIOUS}`, () => {
  let dynamo: TestDynamo;
  beforeAll(async () => {
    dynamo = await startDynamo();
  });
  afterAll(() => dynamo.close());

  let clock: ManualClock;
  let admin: AdminBench;
  let previous: Previous;
  let project = 'team-0';
  let count = 0;
  beforeEach(async () => {
    count += 1;
    project = `team-${count}`;
    clock = createManualClock(START);
    admin = adminOn(dynamo.client, { clock, models: MODELS });
    previous = await createPrevious(dynamo.sdk, {
      clock,
      log: createLog(() => undefined),
      randomBytes,
    });
    await admin.post('/admin/projects', { id: project });
    await admin.post('/admin/plans', { id: 'wide', rpm: 100, quota: 100, period: 'day' });
  });

  const newKey = async (limits: object = {}) => {
    const made = await admin.post(`/admin/projects/${project}/keys`, { plan: 'wide', ...limits });
    expect(made).toMatchObject({ status: 201 });
    const { id, key } = NewKey.parse(made.body);
    return { id, key, path: `/admin/projects/${project}/keys/${id}` };
  };
  const headersOf = (key: string) => ({ 'x-api-key': key });
  const statusOf = (asked: Promise<unknown>) =>
    asked.then(
      () => 200,
      (error: { status?: number }) => error.status ?? 500,
    );
  const inPrevious = (key: string) => statusOf(previous.authenticate(headersOf(key)));
  const callerOf = async (key: string) => {
    const authenticate = createAuthenticate({ ...storesOn(dynamo.client), clock });
    return confirmedCaller(await authenticate(headersOf(key)));
  };
  const inCurrent = (key: string) => statusOf(callerOf(key));
  const listed = async () => {
    const at = { parameters: { project }, body: undefined };
    const [keys, usage] = await Promise.all([previous.listKeys(at), previous.listUsage(at)]);
    return { keys: keys.body.data.length, usage: usage.body.data.length };
  };

  test.each([
    ['a rate', { rpm: 2 }],
    ['a quota', { quota: 3 }],
    ['a concurrency', { concurrency: 1 }],
    ['models', { models: ['a/one'] }],
  ])(`a key with %s of its own is denied by ${PREVIOUS} with 503, alone`, async (_, limits) => {
    const free = await newKey();
    const restricted = await newKey(limits);
    expect(await inPrevious(free.key)).toBe(200);
    for (let asked = 0; asked < 6; asked += 1) expect(await inPrevious(restricted.key)).toBe(503);
    expect(await listed()).toEqual({ keys: 2, usage: 2 });
    expect((await callerOf(restricted.key)).plan).toMatchObject(limits);
    expect(await admin.send({ path: restricted.path })).toMatchObject({
      status: 200,
      body: { plan: 'wide', status: 'active', ...limits },
    });
  });

  test(`a key that is paused is denied by ${PREVIOUS} with 503, listed there, and works again in both once it is resumed`, async () => {
    const free = await newKey();
    const { key, path } = await newKey();
    await admin.post(`${path}/pause`, {});
    expect([await inCurrent(key), await inPrevious(key)]).toEqual([401, 503]);
    expect(await inPrevious(free.key)).toBe(200);
    expect(await listed()).toEqual({ keys: 2, usage: 2 });
    await admin.post(`${path}/resume`, {});
    clock.advance(20_000);
    expect([await inCurrent(key), await inPrevious(key)]).toEqual([200, 200]);
  });

  test(`a key that ${PREVIOUS} rotated keeps its limits and models`, async () => {
    const limits = { rpm: 2, quota: 3, models: ['a/one'] };
    const { id } = await newKey(limits);
    const rotated = await previous.lifecycle.rotate({
      projectId: project,
      keyId: id,
      overlapMs: 0,
    });
    const successor = await callerOf(rotated?.key ?? '');
    expect(successor.plan).toMatchObject({ id: 'wide', ...limits });
  });

  test(`a key that ${PREVIOUS} revoked is revoked, restricted or not`, async () => {
    for (const limits of [{}, { rpm: 2 }]) {
      const { id, key, path } = await newKey(limits);
      await previous.lifecycle.revoke({ projectId: project, keyId: id });
      expect([await inCurrent(key), await inPrevious(key)]).toEqual([401, 401]);
      expect(await admin.send({ path })).toMatchObject({
        body: { status: 'revoked', plan: 'wide' },
      });
    }
  });

  test(`limits of a key are changed and removed, after which ${PREVIOUS} admits it again`, async () => {
    const { key, path } = await newKey({ rpm: 2, quota: 3 });
    await admin.post(path, { rpm: 4, name: 'agent' });
    expect((await callerOf(key)).plan).toMatchObject({ rpm: 4, quota: 3 });
    const { body } = await admin.post(path, { rpm: null, quota: null });
    expect(body).not.toHaveProperty('rpm');
    expect(body).toMatchObject({ plan: 'wide', name: 'agent' });
    expect(await inPrevious(key)).toBe(200);
  });

  test(`a plan that was deleted leaves the others listed by ${PREVIOUS}, which admits no request by it and can create it again`, async () => {
    await admin.post('/admin/plans', { id: 'old', rpm: 1, quota: 1, period: 'day' });
    clock.advance(120_000);
    expect(await admin.post('/admin/plans/old/delete', {})).toMatchObject({ status: 200 });
    const ids = (await previous.plans.listPlans()).map(({ id }) => id);
    expect(ids).toContain('wide');
    const { key } = await previous.lifecycle.create({ projectId: project, planId: 'old' });
    const { plan } = await previous.authenticate(headersOf(key));
    expect(Math.max(plan.rpm, plan.quota)).toBeLessThan(1);
    expect(await inCurrent(key)).toBe(503);
    await previous.plans.putPlan({ id: 'old', rpm: 5, quota: 5, period: 'day' });
    clock.advance(20_000);
    expect(await inCurrent(key)).toBe(200);
  });
});
