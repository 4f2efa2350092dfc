import { systemClock } from '../../lambdas/support/clock.ts';
import { type LocalRouter, startLocal } from '../../local/start.ts';
import { startUserPool } from '../support/user-pool.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;
/** When the pictures are taken. */
export const NOW = Date.UTC(2026, 10, 21, 14, 30);
const DAYS = 30;

const PLANS = [
  { id: 'small', rpm: 60, quota: 50, period: 'month' },
  { id: 'large', rpm: 600, quota: 50_000, period: 'month', concurrency: 20 },
  { id: 'trial', rpm: 10, quota: 4, period: 'day' },
];
const PROJECTS = [
  { id: 'checkout', name: 'Checkout', plans: ['small', 'large'], max_keys: 20 },
  { id: 'research', name: 'Research' },
];
const KEYS = [
  { project: 'checkout', name: 'checkout-service, prod', plan: 'large', requestsADay: 9 },
  { project: 'checkout', name: 'nightly-evals', plan: 'small', requestsADay: 7 },
  { project: 'checkout', name: 'support-bot', plan: 'large', requestsADay: 4 },
  { project: 'checkout', name: 'old laptop', plan: 'small', requestsADay: 0 },
  { project: 'research', name: 'notebook', plan: 'trial', requestsADay: 3 },
];
const MODELS = ['aurora/scribe-1', 'cirrus/vista-3', 'borealis/swift-2'];
const MEMBERS: [email: string, status: string, ...groups: string[]][] = [
  ['olga@acme.example', 'CONFIRMED', 'operator'],
  ['tom@acme.example', 'CONFIRMED', 'project:checkout', 'project:research'],
  ['vera@acme.example', 'CONFIRMED', 'viewer'],
  ['wei@acme.example', 'FORCE_CHANGE_PASSWORD', 'project:research'],
];

const post = async (router: LocalRouter, path: string, body: object, key = '') => {
  const headers = { 'content-type': 'application/json', authorization: `Bearer ${key}` };
  const url = `${router.baseUrl}${path}`;
  const response = await fetch(url, { method: 'POST', headers, body: JSON.stringify(body) });
  return { status: response.status, body: await response.text() };
};

const create = async (router: LocalRouter, path: string, body: object) => {
  const response = await post(router, `/admin${path}`, body);
  if (response.status !== 201) throw new Error(response.body);
  return JSON.parse(response.body);
};

/** Plans, projects and keys; a key without requests is paused. */
const createKeys = async (router: LocalRouter) => {
  const keys: { key: string; requestsADay: number }[] = [];
  for (const plan of PLANS) await create(router, '/plans', plan);
  for (const project of PROJECTS) await create(router, '/projects', project);
  for (const { project, requestsADay, ...body } of KEYS) {
    const { key, id } = await create(router, `/projects/${project}/keys`, body);
    keys.push({ key, requestsADay });
    if (requestsADay === 0) await post(router, `/admin/projects/${project}/keys/${id}/pause`, {});
  }
  return keys;
};

/** Fewer at weekends, more each week. */
const requestsOn = (start: number, day: number, requestsADay: number): number => {
  const isWeekend = [0, 6].includes(new Date(start).getUTCDay());
  return Math.round(requestsADay * (isWeekend ? 0.4 : 1) * (0.6 + day / DAYS));
};

const ask = (router: LocalRouter, key: string, number: number) => {
  const content = number % 15 === 0 ? 'fault status=500' : `say ${'word '.repeat(20 + number)}`;
  const model = MODELS[number % MODELS.length];
  return post(
    router,
    '/v1/chat/completions',
    { model, messages: [{ role: 'user', content }] },
    key,
  );
};

/** A router with a month of requests of two projects, and members; its time is `NOW`. */
export const startDemo = async (): Promise<LocalRouter> => {
  const cognito = await startUserPool();
  let [set, setAt] = [NOW - DAYS * DAY_MS, Date.now()];
  const setClock = (instant: number) => {
    [set, setAt] = [instant, Date.now()];
  };
  const router = await startLocal({
    members: cognito.pool,
    clock: { now: () => set + Date.now() - setAt, after: systemClock.after },
  });
  const keys = await createKeys(router);
  for (let day = 0; day <= DAYS; day += 1) {
    const start = NOW - (DAYS - day) * DAY_MS - 6 * HOUR_MS;
    for (const { key, requestsADay } of keys) {
      for (let index = 0; index < requestsOn(start, day, requestsADay); index += 1) {
        setClock(start + index * 19 * MINUTE_MS);
        await ask(router, key, day + index);
      }
    }
  }
  setClock(NOW);
  for (const [email, status, ...groups] of MEMBERS) {
    cognito.users.set(email, { status, groups: new Set(groups), emails: 1 });
  }
  const close = async () => {
    await Promise.all([router.close(), cognito.close()]);
  };
  return { ...router, close };
};
