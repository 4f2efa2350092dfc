import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { atEmbeddedUpstream } from '../../local/local-catalog.ts';
import { exampleModels, synthTemplate } from '../lib/synth.ts';
import { environmentFor } from '../runtime/start-function.ts';
import { TABLE_NAMES } from '../support/dynamo.ts';
import { scriptsAround } from '../support/shared-bundle.ts';
import { ask, askWith, type Day, playDay, readAll } from './day.ts';
import {
  type Functions,
  type Items,
  readCode,
  type Services,
  startFunctions,
  startServices,
} from './services.ts';

const RELEASES = ['0.1.0', '0.2.0'] as const;
const FROZEN = new URL('../fixtures/releases/', import.meta.url);

const dayOf = (release: string): Day & { items: Items } =>
  JSON.parse(readFileSync(new URL(`${release}/day.json`, FROZEN), 'utf8'));

const codeOf = (release: string) => ({
  router: readCode(fileURLToPath(new URL(release, FROZEN)), 'router'),
  admin: readCode(fileURLToPath(new URL(release, FROZEN)), 'admin'),
});

/** What this checkout ships, around the same catalog: the bundles that test/rehearsal and test/runtime start too. */
const currentCode = () => {
  const models = atEmbeddedUpstream(exampleModels, services.embedded);
  const scriptsOf = (name: string) => scriptsAround(models, { entry: `lambdas/${name}.ts` });
  return { router: scriptsOf('router'), admin: scriptsOf('admin') };
};

type Variables = Record<string, unknown>;

/** The variables that today's template gives a function, with the names of the local tables. */
const variablesOf = (id: string, services: Services): Record<string, string> => {
  const functions = synthTemplate({ stage: 'prod' }).findResources('AWS::Lambda::Function');
  const [one] = Object.entries(functions).flatMap(([name, resource]) =>
    name.startsWith(id) ? [resource] : [],
  );
  const variables: Variables = one?.Properties.Environment.Variables;
  const local: Record<string, string> = {
    ...environmentFor(services.endpoints),
    PROJECTS_TABLE: TABLE_NAMES.projects,
    ANSWERS_TABLE: TABLE_NAMES.answers,
  };
  const named = Object.entries(variables).map(([name, value]) => [
    name,
    local[name] ?? (typeof value === 'string' ? value : 'https://unused.example'),
  ]);
  const aws = Object.entries(local).filter(([name]) => name.startsWith('AWS_'));
  return Object.fromEntries([...named, ...aws]);
};

let services: Services;
let started: Functions[] = [];
let left: { keys: Day['keys']; items: Items } | undefined;
beforeEach(async () => {
  services = await startServices();
});
afterEach(async () => {
  for (const { stop } of started) await stop();
  started = [];
  await services.close();
});

const variables = () => ({
  router: variablesOf('RouterFunction', services),
  admin: variablesOf('AdminFunction', services),
});

const start = (code: ReturnType<typeof currentCode>): Functions => {
  const functions = startFunctions(services, code, variables());
  started.push(functions);
  return functions;
};

/** Functions of this release, and the secrets of the keys of a day that they have played: the later tests get its items. */
const startAfterDay = async (): Promise<{ current: Functions; keys: Day['keys'] }> => {
  const current = start(currentCode());
  if (left) await services.writeItems(left.items);
  else {
    const { keys } = await playDay({ services, functions: current });
    left = { keys, items: await services.readItems() };
  }
  return { current, keys: left.keys };
};

/** Texts for people, which are not promised, and an age, to which a busy machine adds seconds. */
const NOT_COMPARED = ['what', 'next', 'charged_why', 'age_seconds'];

/** What has at least the members and rows of a value: a later release adds some. */
const atLeast = (value: unknown): unknown => {
  if (Array.isArray(value)) return expect.arrayContaining(value.map(atLeast));
  if (typeof value !== 'object' || value === null) return value;
  const members = Object.entries(value)
    .filter(([name]) => !NOT_COMPARED.includes(name))
    .map(([name, member]) => [name, atLeast(member)]);
  return expect.objectContaining(Object.fromEntries(members));
};

/** This release answers what another one has answered. Texts of errors are not promised. */
const answersAlike = async (current: Functions, reads: Day['reads']): Promise<void> => {
  for (const { answer, ...called } of reads) {
    const { status, body } = answer;
    const found = { ...called, answer: await ask(current, called) };
    expect(found).toEqual(
      atLeast({ ...called, answer: status === 200 ? { status, body } : { status } }),
    );
  }
};

const keysOf = async (on: Functions, keys: Day['keys']): Promise<Record<string, number>> => {
  const statuses: Record<string, number> = {};
  for (const [name, key] of Object.entries(keys)) statuses[name] = await askWith(on, key);
  return statuses;
};

test.each(RELEASES)(
  'the items that a day of %s left are read by this release as by the one that wrote them',
  async (release) => {
    const { items, reads } = dayOf(release);
    await services.writeItems(items);
    await answersAlike(start(currentCode()), reads);
  },
);

/** Keys with restrictions that a release does not know: each alone is rejected. */
const UNREADABLE: Record<string, string[]> = { '0.1.0': ['limited', 'paused'] };

/** What a release reads of a day of a later one. */
const readByOld = async (old: Functions, keys: Day['keys'], unreadable: string[]) => {
  const reads = await readAll(old, keys);
  for (const { path, key, answer } of reads) {
    const isRejected = unreadable.some((name) => keys[name] === key);
    const { status = 500 } = answer;
    expect({ path, status }).toEqual({ path, status: isRejected ? 503 : Math.min(status, 499) });
  }
  return reads;
};

test.each(RELEASES)(
  "the code of %s alone, under this release's template, serves what a day of this release left",
  async (release) => {
    const { current, keys } = await startAfterDay();
    const old = start(codeOf(release));
    const unreadable = UNREADABLE[release] ?? [];
    const oldReads = await readByOld(old, keys, unreadable);
    if (unreadable.length === 0) await answersAlike(current, oldReads);
    const statuses = await keysOf(current, keys);
    const rejected = Object.fromEntries(unreadable.map((name) => [name, 503]));
    expect(await keysOf(old, keys)).toEqual({ ...statuses, ...rejected });
    expect(await keysOf(current, keys)).toEqual(statuses);
  },
);

test('the code of 0.1.0 reads the items that a day of 0.2.0 left', async () => {
  const { items, keys } = dayOf('0.2.0');
  await services.writeItems(items);
  await readByOld(start(codeOf('0.1.0')), keys, UNREADABLE['0.1.0'] ?? []);
});

type Sums = { charged: number; refunded: number; refused: number };
const DAY = 86_400_000;
const NOON = Date.parse('2026-11-01T12:00:00Z');

/** Sums of the history's rows, and of the same by each name. */
const sumsOf = async (functions: Functions, now: number, names: string[]) => {
  const path = '/admin/usage?since=2026-10-30T00:00:00Z&project=acme';
  const sumsAt = async (query: string): Promise<number[]> => {
    const { body } = await functions.operate(now, { path: path + query, method: 'GET' });
    const { data } = body as { data: Sums[] };
    const sumOf = (name: keyof Sums) => data.reduce((sum, row) => sum + row[name], 0);
    return [sumOf('charged'), sumOf('refunded'), sumOf('refused')];
  };
  const by: Record<string, number[]> = {};
  for (const name of names) by[name] = await sumsAt(`&by=${name}`);
  return { by, rows: await sumsAt('') };
};

test('sums of the history are those of its rows, also of days that the code of 0.2.0 counts in between', async () => {
  const { current, keys } = await startAfterDay();
  const old = start(codeOf('0.2.0'));
  const use = async (functions: Functions, now: number): Promise<void> => {
    const body = { model: 'aurora/scribe-1', messages: [{ role: 'user', content: 'hello' }] };
    const called = { path: '/v1/chat/completions', body, key: keys.plain ?? '' };
    expect((await functions.call(now, called)).status).toBe(200);
    await functions.foldHistory(now + 1_000);
  };
  const seen: number[] = [];
  const check = async (now: number) => {
    const { by, rows } = await sumsOf(current, now, ['day', 'model', 'key', 'project']);
    expect({ now, by }).toEqual({ now, by: { day: rows, model: rows, key: rows, project: rows } });
    seen.push(rows[0] ?? 0);
  };
  // Each release by turns, over the ends of two days.
  for (const [index, functions] of [current, old, current, old, old, current, current].entries()) {
    const now = NOON + index * (DAY / 2);
    await use(functions, now);
    await check(now + 2_000);
  }
  const first = seen[0] ?? 0;
  expect(seen).toEqual([0, 1, 2, 3, 4, 5, 6].map((more) => first + more));
});
