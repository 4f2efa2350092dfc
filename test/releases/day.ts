import type { Answered, Called, Functions, Services } from './services.ts';

/**
 * The last evening of a month and the night after it, as requests to the two functions of a release. A step that a
 * release does not know leaves no item.
 */
const EVENING = Date.parse('2026-10-31T20:00:00Z');
const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
/** When the items are read. */
const MORNING = EVENING + 9 * HOUR + 10 * MINUTE;

const CHAT = '/v1/chat/completions';
const MODEL = 'aurora/scribe-1';
const SECOND_MODEL = 'borealis/swift-2';
const asked = [{ role: 'user', content: 'hello' }];

export type Day = {
  /** Secrets of the keys by their names here. */
  keys: Record<string, string>;
  /** Requests and what the release's own functions answer to them in the morning. */
  reads: (Called & { of: 'router' | 'admin'; answer: Answered })[];
};

type Stage = { services: Services; functions: Functions };

const created = ({ body }: Answered): { id: string; key: string } | undefined => {
  const made = body as { id?: string; key?: string };
  return made.id && made.key ? { id: made.id, key: made.key } : undefined;
};

/** Operations as an operator makes them: a table that does not answer within a second on a busy machine is asked again. */
const operationsAt =
  ({ functions }: Stage, now: number) =>
  async (path: string, body: object = {}): Promise<Answered> => {
    for (let tries = 1; ; tries += 1) {
      const answered = await functions.operate(now, { path: `/admin${path}`, body });
      if (answered.status !== undefined && answered.status < 500) return answered;
      if (tries === 5) throw new Error(`${path}: ${JSON.stringify(answered)}`);
    }
  };

const setUp = async (stage: Stage): Promise<Record<string, { id: string; key: string }>> => {
  const operate = operationsAt(stage, EVENING);
  await operate('/projects', { id: 'acme', name: 'Acme' });
  for (const id of ['labs', 'gone']) await operate('/projects', { id });
  await operate('/plans', { id: 'day', rpm: 100, quota: 100, period: 'day' });
  await operate('/plans', { id: 'month', rpm: 600, quota: 100_000, period: 'month' });
  await operate('/plans', {
    id: 'kept',
    rpm: 60,
    quota: 90,
    period: 'day',
    concurrency: 20,
    replay: 'retries',
  });
  await operate('/plans', { id: 'hour', rpm: 60, quota: 20, period: 'hour', models: [MODEL] });
  await operate('/plans', { id: 'dropped', rpm: 1, quota: 1, period: 'hour' });
  const keys: Record<string, { id: string; key: string }> = {};
  const create = async (name: string, project: string, settings: object) => {
    const made = created(await operate(`/projects/${project}/keys`, { name, ...settings }));
    if (made) keys[name] = made;
  };
  await create('plain', 'acme', { plan: 'day' });
  await create('kept', 'acme', { plan: 'kept' });
  await create('hourly', 'acme', { plan: 'hour' });
  await create('limited', 'acme', {
    plan: 'month',
    rpm: 5,
    quota: 50,
    concurrency: 2,
    models: [MODEL],
  });
  await create('expiring', 'acme', { plan: 'day', expires_at: '2026-11-01T00:00:00Z' });
  for (const name of ['paused', 'resumed', 'revoked', 'rotated'])
    await create(name, 'acme', { plan: 'day' });
  await create('bulk', 'labs', { plan: 'month' });
  await create('gone', 'gone', { plan: 'day' });
  return keys;
};

/** Requests of all protocols, whole and streamed, and of every way to fail. */
const playRequests = async ({ services, functions }: Stage, keyOf: (name: string) => string) => {
  let now = EVENING + MINUTE;
  const call = (name: string, path: string, body: object, headers = {}): Promise<Answered> => {
    now += 1_000;
    return functions.call(now, { path, body, headers, key: keyOf(name) });
  };
  const chat = (name: string, more: object = {}, headers = {}) =>
    call(name, CHAT, { model: MODEL, messages: asked, ...more }, headers);
  for (const stream of [false, true]) {
    await chat('plain', { stream });
    await call('plain', '/v1/messages', {
      model: SECOND_MODEL,
      max_tokens: 50,
      messages: asked,
      stream,
    });
    await call('plain', '/v1/responses', { model: MODEL, input: 'hello', stream });
    await chat('kept', { stream }, { 'idempotency-key': `first-${stream}` });
  }
  await call('plain', '/v1/messages/count_tokens', { model: SECOND_MODEL, messages: asked });
  await chat('plain', { temperature: 0.5 });
  // A release before these dimensions reads the history that has them.
  const who = { 'x-router-user': 'ann', 'x-router-session': 's', 'x-router-tags': 'team=red' };
  await chat('plain', {}, who);
  await chat('plain', { model: 'unknown/model' });
  await chat('unknown');
  for (let count = 0; count < 8; count += 1) await chat('limited');
  for (let count = 0; count < 22; count += 1) await chat('hourly');
  services.upstreams.inject({ fault: { kind: 'error', after: 3 }, times: 1 });
  await chat('plain', { stream: true });
  services.upstreams.inject({ fault: { kind: 'status', status: 500 }, protocol: 'chat' });
  for (let count = 0; count < 12; count += 1) await chat(count % 2 === 0 ? 'plain' : 'bulk');
  services.upstreams.inject({ fault: { kind: 'status', status: 503 } });
  for (let count = 0; count < 4; count += 1) await chat('plain');
  services.upstreams.reset();
  // More at once than the item of a meter holds.
  now += 10 * MINUTE;
  services.upstreams.inject({ fault: { kind: 'slow', ms: 100 } });
  await Promise.all(Array.from({ length: 90 }, () => chat('bulk')));
  services.upstreams.reset();
};

const endKeys = async (stage: Stage, keys: Record<string, { id: string }>) => {
  const operate = operationsAt(stage, EVENING + HOUR);
  const change = (name: string, verb: string, body: object = {}) =>
    keys[name] && operate(`/projects/acme/keys/${keys[name].id}/${verb}`, body);
  for (const name of ['paused', 'resumed']) await change(name, 'pause');
  await change('resumed', 'resume');
  await change('revoked', 'revoke');
  const rotated = await change('rotated', 'rotate');
  await operate('/plans/day', { rpm: 90 });
  await operate('/plans/dropped/delete');
  if (keys.gone) await operate(`/projects/gone/keys/${keys.gone.id}/revoke`);
  await operate('/projects/gone/delete');
  return rotated && created(rotated);
};

const ADMIN_READS = [
  ...['projects', 'plans', 'projects/acme/keys', 'projects/labs/keys'],
  ...['projects/acme/usage', 'projects/labs/usage', 'audit', 'targets'],
  ...['usage?since=2026-10-30T00:00:00Z', 'usage?since=2026-10-30T00:00:00Z&by=model'],
  ...['projects/acme/statements/2026-10', 'projects/labs/statements/2026-10'],
  ...['requests?project=acme&since=2026-10-31T00:00:00Z&limit=100', 'calibration'],
].map((path) => `/admin/${path}`);

/** What the two functions answer to the same request. */
export const ask = (
  functions: Functions,
  { of, ...called }: Called & { of: 'router' | 'admin' },
) => (of === 'router' ? functions.call(MORNING, called) : functions.operate(MORNING, called));

/** Status of a chat request in the morning. */
export const askWith = async (functions: Functions, key: string): Promise<number> => {
  const body = { model: MODEL, messages: asked };
  const { status = 0 } = await functions.call(MORNING, { path: CHAT, body, key });
  return status;
};

const requestsIn = ({ body }: Answered): string[] =>
  ((body as { data?: { id: string }[] }).data ?? []).map(({ id }) => id);

/** What the functions of a release answer to everything that it can be asked of a day. */
export const readAll = async (
  functions: Functions,
  keys: Record<string, string>,
): Promise<Day['reads']> => {
  const reads: Day['reads'] = [];
  const read = async (one: Called & { of: 'router' | 'admin' }): Promise<Answered> => {
    const answer = await ask(functions, one);
    // What a release does not have is not promised.
    if (answer.status !== 404) reads.push({ ...one, answer });
    return answer;
  };
  let requests: string[] = [];
  for (const path of ADMIN_READS) {
    const answer = await read({ of: 'admin', method: 'GET', path });
    if (path.includes('/requests')) requests = requestsIn(answer);
  }
  for (const id of requests.filter((_, index) => index % 4 === 0))
    await read({ of: 'admin', method: 'GET', path: `/admin/requests/${id}` });
  for (const key of Object.values(keys)) {
    await read({ of: 'router', method: 'GET', path: '/v1/usage', key });
  }
  const { kept } = keys;
  if (kept === undefined) return reads;
  for (const stream of [false, true]) {
    const body = { model: MODEL, messages: asked, stream };
    const headers = { 'idempotency-key': `first-${stream}` };
    await read({ of: 'router', path: CHAT, body, headers, key: kept });
  }
  return reads;
};

export const playDay = async (stage: Stage): Promise<Day> => {
  const { functions } = stage;
  const keys = await setUp(stage);
  const secrets: Record<string, string> = { unknown: `mrk_live_${'0'.repeat(30)}` };
  for (const [name, { key }] of Object.entries(keys)) secrets[name] = key;
  await playRequests(stage, (name) => secrets[name] ?? '');
  const successor = await endKeys(stage, keys);
  if (successor) secrets.successor = successor.key;
  for (let run = EVENING + 85 * MINUTE; run < MORNING; run += HOUR)
    await functions.foldHistory(run);
  for (const name of ['plain', 'successor', 'bulk']) {
    const body = { model: MODEL, messages: asked };
    await functions.call(MORNING - 3 * MINUTE, { path: CHAT, body, key: secrets[name] ?? '' });
  }
  delete secrets.unknown;
  return { keys: secrets, reads: await readAll(functions, secrets) };
};
