import type { AsyncCommand } from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createManualClock } from '../support/manual-clock.ts';
import { fc, share } from '../support/seeds.ts';
import { type KeysLab, startKeysLab } from './keys-model/lab.ts';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
/** Mid-month and mid-minute. */
const START = Date.parse('2026-11-10T11:30:30Z');
const HISTORIES = Number(process.env.PLAN_HISTORIES ?? share(8, 3));
/** Caches of keys and plans are 10 s old at most; 15 s are promised. */
const TAKES_EFFECT_MS = 15 * SECOND;

type Plan = { rpm: number; quota: number };

/** One key of two processes, and what its meter must have. */
type Model = {
  project: string;
  keyId: string;
  key: string;
  /** Limits of both plans, and the one that the key has. */
  plans: [Plan, Plan];
  at: 0 | 1;
  isPaused: boolean;
  period: { label: string; used: number };
  minute: { number: number; used: number };
};
type Command = AsyncCommand<Model, KeysLab>;

let lab: KeysLab;
beforeAll(async () => {
  lab = await startKeysLab(createManualClock(START));
});
afterAll(() => lab.close());

const hourOf = (now: number): string => new Date(now).toISOString().slice(0, 13);

/** Windows that ended count from zero. */
const turnWindows = (model: Model, now: number): void => {
  if (model.period.label !== hourOf(now)) model.period = { label: hourOf(now), used: 0 };
  const minute = Math.floor(now / MINUTE);
  if (model.minute.number !== minute) model.minute = { number: minute, used: 0 };
};

/** What the caller must get; a quota that is used comes before a rate. */
const expectedOf = ({ plans, at, isPaused, period, minute }: Model): number => {
  if (isPaused) return 401;
  if (period.used >= plans[at].quota) return 402;
  return minute.used >= plans[at].rpm ? 429 : 200;
};

const command = (name: string, run: Command['run']): Command => ({
  check: () => true,
  run,
  toString: () => name,
});

const generate = (process: number): Command =>
  command(`a generation at process ${process}`, async (model, { clock, generate: ask }) => {
    turnWindows(model, clock.now());
    const expected = expectedOf(model);
    expect((await ask(process, model.key)).status).toBe(expected);
    if (expected !== 200) return;
    model.period.used += 1;
    model.minute.used += 1;
  });

const look = command('its holder reads the usage', async (model, { clock, usage }) => {
  if (model.isPaused) return;
  turnWindows(model, clock.now());
  const { body } = await usage(0, model.key);
  const { quota } = model.plans[model.at];
  const { used } = model.period;
  expect(body.period).toMatchObject({ used, reserved: 0, remaining: Math.max(0, quota - used) });
});

const planId = ({ project }: Pick<Model, 'project'>, at: number): string => `${project}-plan-${at}`;

/** Runs an admin operation that succeeds, and waits until it holds everywhere. */
const change = (
  name: string,
  pathOf: (model: Model) => string,
  { body, apply }: { body: (model: Model) => object; apply: (model: Model) => void },
): Command =>
  command(name, async (model, { admin, clock }) => {
    const { status } = await admin('POST', pathOf(model), body(model));
    expect(status).toBe(200);
    apply(model);
    clock.advance(TAKES_EFFECT_MS);
  });

const keyPath =
  (verb: string) =>
  ({ project, keyId }: Model): string =>
    `/projects/${project}/keys/${keyId}/${verb}`;

const setPlan = (at: 0 | 1, plan: Plan): Command =>
  change(
    `plan ${at} becomes rpm ${plan.rpm}, quota ${plan.quota}`,
    (model) => `/plans/${planId(model, at)}`,
    {
      body: () => plan,
      apply: ({ plans }) => {
        plans[at] = plan;
      },
    },
  );

const move = (at: 0 | 1): Command =>
  change(`the key moves to plan ${at}`, keyPath('move'), {
    body: (model) => ({ plan: planId(model, at) }),
    apply: (model) => {
      model.at = at;
    },
  });

const setPaused = (isPaused: boolean): Command =>
  change(`the key is ${isPaused ? 'paused' : 'resumed'}`, keyPath(isPaused ? 'pause' : 'resume'), {
    body: () => ({}),
    apply: (model) => {
      model.isPaused = isPaused;
    },
  });

const pass = (ms: number): Command =>
  command(`${ms} ms pass`, async (_, { clock }) => clock.advance(ms));

const which = fc.constantFrom<0 | 1>(0, 1);
const ask = fc.nat(1).map(generate);
const commands = fc.commands(
  [
    ask,
    ask,
    ask,
    ask,
    fc.constant(look),
    fc
      .tuple(
        which,
        fc.record({ rpm: fc.integer({ min: 1, max: 4 }), quota: fc.integer({ min: 1, max: 8 }) }),
      )
      .map(([at, plan]) => setPlan(at, plan)),
    which.map(move),
    fc.boolean().map(setPaused),
    fc.constantFrom(SECOND, 20 * SECOND, MINUTE, 20 * MINUTE, HOUR).map(pass),
  ],
  { maxCommands: 40, size: '+1' },
);

let projects = 0;
const setUp = async (): Promise<{ model: Model; real: KeysLab }> => {
  projects += 1;
  const project = `team-${projects}`;
  const plans: [Plan, Plan] = [
    { rpm: 2, quota: 3 },
    { rpm: 3, quota: 6 },
  ];
  for (const [at, plan] of plans.entries()) {
    const body = { id: planId({ project }, at), ...plan, period: 'hour' };
    expect((await lab.admin('POST', '/plans', body)).status).toBe(201);
  }
  expect((await lab.admin('POST', '/projects', { id: project })).status).toBe(201);
  const { status, body } = await lab.admin('POST', `/projects/${project}/keys`, {
    plan: planId({ project }, 0),
  });
  expect(status).toBe(201);
  const model: Model = {
    project,
    keyId: String(body.id),
    key: String(body.key),
    plans,
    at: 0,
    isPaused: false,
    period: { label: '', used: 0 },
    minute: { number: 0, used: 0 },
  };
  return { model, real: lab };
};

test(`plans that change, keys that move or pause, and time admit exactly what the plan allows, in any of ${HISTORIES} histories of two processes`, async () => {
  const histories = fc.asyncProperty(commands, (history) => fc.asyncModelRun(setUp, history));
  await fc.assert(histories, { numRuns: HISTORIES });
}, 600_000);
