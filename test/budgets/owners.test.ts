import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { systemClock } from '../../lambdas/support/clock.ts';
import { createLog } from '../../lambdas/support/log.ts';
import { openStores } from '../../local/local-stores.ts';
import { type LocalRouter, startLocal } from '../../local/start.ts';
import { type Asked, type BudgetLab, dollarsOf, modelsAt, startBudgetLab } from './lab.ts';

let lab: BudgetLab;
/** Another process of the router on the same tables. */
let other: LocalRouter;
beforeAll(async () => {
  const stores = openStores(systemClock);
  lab = await startBudgetLab(stores);
  other = await startLocal({
    catalog: modelsAt(lab.provider.url),
    secrets: { secret: 'credential' },
    clock: lab.clock,
    log: createLog((line) => lab.lines.push(line)),
    stores: { ...stores, close: async () => undefined },
  });
});
afterAll(async () => {
  await other.close();
  await lab.close();
});

type Failure = { error: { code?: string; message: string; details?: { error_code: string } } };

/** A response of a fixed price, with its status, its code and what it says of the tightest budget. */
const ask = async (asked: Asked, url?: string) => {
  const response = await lab.ask({ order: 'output=900', maxTokens: 900, ...asked }, url);
  const text = await response.text();
  const { error } = response.ok ? {} : (JSON.parse(text) as Failure);
  return {
    status: response.status,
    code: error?.code ?? error?.details?.error_code,
    message: error?.message,
    limit: response.headers.get('x-budget-limit'),
    remaining: Number(response.headers.get('x-budget-remaining')),
  };
};
const forUser = (user: string) => ({ headers: { 'x-router-user': user } });
const inSession = (session: string) => ({ headers: { 'x-router-session': session } });

/** Two tenants, each with a key; the price of a response is between 0.02 and 0.03 dollars. */
const startTenants = async () => {
  const [one, foreign] = [await lab.createProject(2), await lab.createProject(1)];
  const path = `/projects/${one.id}`;
  return {
    one,
    path,
    key: one.keys[0] ?? '',
    second: one.keys[1] ?? '',
    foreign: foreign.keys[0] ?? '',
  };
};
const set = (path: string, body: object) => lab.admin(`${path}/budget`, body);

describe.each([
  { dimension: 'user', all: 'users', by: forUser },
  { dimension: 'session', all: 'sessions', by: inSession },
])('budgets of a $dimension', ({ dimension, all, by }) => {
  test(`the budget of a ${dimension} holds over the keys of its project, and for no other ${dimension} or project`, async () => {
    const { path, key, second, foreign, one } = await startTenants();
    const own = `${path}/${all}/ann`;
    const { body } = await set(own, { max_usd: 0.03, period: 'day' });
    expect(body).toMatchObject({ scope: dimension, id: 'ann', project: one.id, max_usd: 0.03 });
    lab.pass();
    expect(await ask({ key, ...by('ann') })).toMatchObject({ status: 200, limit: '0.03' });
    const denied = await ask({ key: second, ...by('ann') }, other.baseUrl);
    expect(denied).toMatchObject({ status: 402, code: 'budget_exceeded' });
    expect(denied.message).toContain(`The budget of ${dimension} 'ann' of $0.03 a day`);
    expect(await ask({ key, ...by('bob') })).toMatchObject({ status: 200, limit: null });
    expect(await ask({ key })).toMatchObject({ status: 200, limit: null });
    expect(await ask({ key: foreign, ...by('ann') })).toMatchObject({ status: 200, limit: null });
    await expect.poll(() => lab.budget(own)).toMatchObject({ leased_usd: 0 });
    const { spent_usd, remaining_usd } = await lab.budget(own);
    expect(spent_usd).toBeGreaterThan(0.02);
    expect(spent_usd + remaining_usd).toBeCloseTo(0.03, 9);
  });

  test(`a ${dimension} without a budget of its own is under that of all, and one of its own replaces it`, async () => {
    const { path, key, foreign } = await startTenants();
    await set(`${path}/${all}`, { max_usd: 0.03, period: 'day' });
    await set(`${path}/${all}/vip`, { max_usd: 1, period: 'total' });
    lab.pass();
    for (const name of ['one', 'two']) {
      expect(await ask({ key, ...by(name) })).toMatchObject({ status: 200, limit: '0.03' });
      expect(await ask({ key, ...by(name) }, other.baseUrl)).toMatchObject({ status: 402 });
    }
    for (let n = 0; n < 2; n += 1) {
      expect(await ask({ key, ...by('vip') })).toMatchObject({ status: 200, limit: '1.00' });
    }
    expect(await ask({ key: foreign, ...by('one') })).toMatchObject({ status: 200, limit: null });
    expect((await lab.admin(`${path}/${all}/one/budget`)).body).toMatchObject({
      id: 'one',
      default: true,
      max_usd: 0.03,
    });
    lab.pass(86_400_000);
    expect(await ask({ key, ...by('one') })).toMatchObject({ status: 200 });
  });

  test(`the budget of a ${dimension} is raised, lowered, paused, resumed and deleted at once`, async () => {
    const { path, key } = await startTenants();
    const own = `${path}/${all}/ann`;
    await set(own, { max_usd: 0.03, period: 'day' });
    lab.pass();
    const statuses: number[] = [];
    // Another process each time.
    const note = async () => {
      const url = statuses.length % 2 === 1 ? other.baseUrl : undefined;
      statuses.push((await ask({ key, ...by('ann') }, url)).status);
    };
    await note();
    await note();
    await set(own, { max_usd: 0.06 });
    await note();
    await note();
    await set(own, { paused: true });
    await note();
    await set(own, { paused: false });
    await note();
    await lab.admin(`${own}/budget/delete`, {});
    await note();
    expect(statuses).toEqual([200, 402, 200, 402, 200, 402, 200]);
    expect((await lab.admin(`${own}/budget`)).status).toBe(404);
  });
});

test('a request in flight of a user is a 429, and room again when it ends', async () => {
  const { path, key } = await startTenants();
  await set(`${path}/users`, { max_usd: 0.04, period: 'total' });
  lab.pass();
  const running = await lab.ask({
    key,
    order: 'output=200 pace=50',
    maxTokens: 1_500,
    ...forUser('u'),
  });
  const next = { key, maxTokens: 1_500, order: '', ...forUser('u') };
  expect(await ask(next)).toMatchObject({ status: 429, code: 'budget_in_flight' });
  expect(await ask({ ...next, ...forUser('v') })).toMatchObject({ status: 200 });
  await running.text();
  await expect.poll(async () => (await ask(next)).status).toBe(200);
});

test('a response of a user that gets no further slice ends as one that is cut, within the budget', async () => {
  const { path, key } = await startTenants();
  await set(`${path}/users/ann`, { max_usd: 0.06, period: 'day' });
  lab.pass();
  const before = lab.provider.invoices.length;
  const response = await lab.ask({
    key,
    order: 'output=9000 pace=1 chunk=6',
    maxTokens: 9_000,
    ...forUser('ann'),
  });
  const text = await response.text();
  expect(text).toContain('"stop_reason":"max_tokens"');
  expect(text).toContain('A budget of dollars has ended this response.');
  await expect.poll(() => lab.budget(`${path}/users/ann`)).toMatchObject({ leased_usd: 0 });
  const billed = dollarsOf(lab.provider.invoices.slice(before));
  expect(billed).toBeGreaterThan(0.045);
  expect(billed).toBeLessThanOrEqual(0.06);
});

test('budgets of organisation, project, key, user and session all pay, and the tightest one counts', async () => {
  const { path, key, one, foreign } = await startTenants();
  const paths = [
    '',
    path,
    `${path}/keys/${one.keyIds[0]}`,
    `${path}/users/ann`,
    `${path}/sessions/s`,
  ];
  for (const [index, owner] of paths.entries()) {
    await set(owner, { max_usd: 1 - index / 10, period: 'month' });
  }
  lab.pass();
  const headers = { 'x-router-user': 'ann', 'x-router-session': 's' };
  expect(await ask({ key, headers })).toMatchObject({ status: 200, limit: '0.60' });
  expect(await ask({ key: foreign })).toMatchObject({ status: 200, limit: '1.00' });
  await expect
    .poll(() => Promise.all(paths.map(async (owner) => (await lab.budget(owner)).leased_usd)))
    .toEqual([0, 0, 0, 0, 0]);
  const [all = 0, ...own] = await Promise.all(
    paths.map(async (owner) => (await lab.budget(owner)).spent_usd),
  );
  expect(new Set(own).size).toBe(1);
  expect(all).toBeCloseTo(2 * (own[0] ?? 0), 6);

  await set('', { max_usd: 0.02 });
  const denied = await ask({ key: foreign }, other.baseUrl);
  expect(denied).toMatchObject({ status: 402 });
  expect(denied.message).toContain('The budget of the organisation of $0.02 a month');
  const later = await lab.createProject(1);
  expect(await ask({ key: later.keys[0] ?? '' })).toMatchObject({ status: 402 });
  await lab.admin('/budget/delete', {});
  expect(await ask({ key: foreign })).toMatchObject({ status: 200, limit: null });
  const audit = JSON.stringify((await lab.admin('/audit')).body);
  for (const scope of ['organisation', 'user', 'session'])
    expect(audit).toContain(`"scope":"${scope}"`);
});

test('a budget that reaches 50 percent, and then denies a request, has one event of each over all processes', async () => {
  const { path, key, one } = await startTenants();
  await set(`${path}/users/eve`, { max_usd: 0.045, period: 'day' });
  await set(path, { max_usd: 100, period: 'day' });
  lab.pass();
  const thresholds = () =>
    lab.lines
      .map((line) => JSON.parse(line))
      .filter(({ event, projectId }) => event === 'usage_threshold' && projectId === one.id)
      .map(({ threshold }) => threshold);
  expect(await ask({ key, ...forUser('eve') })).toMatchObject({ status: 200 });
  await expect.poll(thresholds).toEqual([50]);
  for (const url of [undefined, other.baseUrl, undefined, other.baseUrl]) {
    expect(await ask({ key, ...forUser('eve') }, url)).toMatchObject({ status: 402 });
  }
  expect(thresholds()).toEqual([50, 100]);
});
