import type { AsyncCommand } from 'fast-check';
import { expect } from 'vitest';
import { OVERLAPS_MS } from '../../../lambdas/admin/input.ts';
import { formatInstant } from '../../../lambdas/support/clock.ts';
import { fc } from '../../support/seeds.ts';
import type { Answer, KeysLab } from './lab.ts';

type ModelKey = {
  id: string;
  key: string;
  endsAt: number;
  usedAt: number | undefined;
  /** Per process: when it last looked the key up while the keys table worked. */
  lookedUpAt: number[];
  isPaused: boolean;
  /** When it was last paused or resumed. */
  turnedAt: number;
};

/** The keys of one project, all of one meter or another. */
export type KeysModel = { project: string; keys: ModelKey[]; isDown: boolean };

type Command = AsyncCommand<KeysModel, KeysLab>;

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
/** Caches serve a key for 10 minutes while the table fails, counted from a read up to 10 s before the use. */
const SURELY_CACHED_MS = 10 * MINUTE - 11 * SECOND;

/** A pause and a resumption hold everywhere after 15 s. */
const PAUSE_HOLDS_MS = 15 * SECOND;

const command = (name: string, run: Command['run']): Command => ({
  check: () => true,
  run,
  toString: () => name,
});

const keyAt = ({ keys }: KeysModel, index: number): ModelKey | undefined =>
  keys[index % Math.max(1, keys.length)];

const isEnded = ({ endsAt }: ModelKey, now: number) => endsAt <= now;

const addKey = (model: KeysModel, { status, body }: Answer, endsAt: number): void => {
  expect(status).toBe(201);
  const key: ModelKey = {
    id: String(body.id),
    key: String(body.key),
    endsAt,
    usedAt: undefined,
    lookedUpAt: [],
    isPaused: false,
    turnedAt: Number.NEGATIVE_INFINITY,
  };
  model.keys.push(key);
};

const create = (life: number | undefined): Command =>
  command(
    `create a key${life === undefined ? '' : ` that expires in ${life} ms`}`,
    async (model, lab) => {
      const endsAt = life === undefined ? Number.POSITIVE_INFINITY : lab.clock.now() + life;
      const created = await lab.admin('POST', `/projects/${model.project}/keys`, {
        plan: 'keys',
        ...(life !== undefined && { expires_at: formatInstant(endsAt) }),
      });
      addKey(model, created, endsAt);
    },
  );

const rotate = (index: number, overlap: keyof typeof OVERLAPS_MS): Command =>
  command(`rotate key ${index} with overlap ${overlap}`, async (model, lab) => {
    const old = keyAt(model, index);
    if (!old) return;
    const path = `/projects/${model.project}/keys/${old.id}/rotate`;
    const rotated = await lab.admin('POST', path, { overlap });
    if (isEnded(old, lab.clock.now()) || old.isPaused) {
      expect(rotated.status).toBe(409);
      return;
    }
    addKey(model, rotated, Number.POSITIVE_INFINITY);
    old.endsAt = Math.min(old.endsAt, lab.clock.now() + OVERLAPS_MS[overlap]);
  });

const revoke = (index: number): Command =>
  command(`revoke key ${index}`, async (model, lab) => {
    const key = keyAt(model, index);
    if (!key) return;
    const path = `/projects/${model.project}/keys/${key.id}/revoke`;
    expect((await lab.admin('POST', path, {})).status).toBe(200);
    key.endsAt = Math.min(key.endsAt, lab.clock.now());
  });

const setPaused = (index: number, isPaused: boolean): Command =>
  command(`${isPaused ? 'pause' : 'resume'} key ${index}`, async (model, lab) => {
    const key = keyAt(model, index);
    if (!key) return;
    const path = `/projects/${model.project}/keys/${key.id}/${isPaused ? 'pause' : 'resume'}`;
    const { status } = await lab.admin('POST', path, {});
    if (status !== 200) {
      expect([status, isEnded(key, lab.clock.now())]).toEqual([409, true]);
      return;
    }
    if (key.isPaused !== isPaused) key.turnedAt = lab.clock.now();
    key.isPaused = isPaused;
  });

/** The status that the caller must see; undefined if a failing table allows its 503 as well. */
const expectStatus = (
  { model, key, process, now }: { model: KeysModel; key: ModelKey; process: number; now: number },
  status: number,
): void => {
  const expected = isEnded(key, now) || key.isPaused ? 401 : 200;
  const lookedUpAt = key.lookedUpAt[process] ?? Number.NEGATIVE_INFINITY;
  const mayBeUnknown = model.isDown && now - lookedUpAt >= SURELY_CACHED_MS;
  // The table must be readable for a process to learn of it.
  const mayBeStale = !isEnded(key, now) && (model.isDown || now - key.turnedAt < PAUSE_HOLDS_MS);
  const possible = mayBeStale ? [200, 401] : [expected];
  expect(mayBeUnknown ? [...possible, 503] : possible).toContain(status);
  if (!model.isDown) key.lookedUpAt[process] = now;
};

const call = (verb: 'generate' | 'usage', process: number, index: number): Command =>
  command(`${verb} with key ${index} at process ${process}`, async (model, lab) => {
    const key = keyAt(model, index);
    if (!key) return;
    const now = lab.clock.now();
    const { status } = await lab[verb](process, key.key);
    expectStatus({ model, key, process, now }, status);
    if (verb === 'generate' && status === 200) key.usedAt = now;
  });

/** A key shows its last use for at least a day after its end. */
const look = command('the operator looks at the usage', async (model, lab) => {
  const { body } = await lab.admin('GET', `/projects/${model.project}/usage`);
  const rows = new Map(
    (body.data as { id: string; last_used_at?: string }[]).map((row) => [row.id, row.last_used_at]),
  );
  const recent = model.keys.filter(({ endsAt }) => lab.clock.now() - endsAt < DAY);
  const shown = recent.map(({ id }) => [id, rows.get(id)]);
  expect(shown).toEqual(
    recent.map(({ id, usedAt }) => [id, usedAt === undefined ? undefined : formatInstant(usedAt)]),
  );
});

const pass = (ms: number): Command =>
  command(`${ms} ms pass`, async (_, lab) => lab.clock.advance(ms));

const turn = (isDown: boolean): Command =>
  command(`the keys table ${isDown ? 'fails' : 'works'}`, async (model, lab) => {
    model.isDown = isDown;
    lab.setKeysDown(isDown);
  });

/** Few, so that several commands meet the same key. */
const index = fc.nat(3);
const process = fc.nat(1);
const use = fc
  .tuple(fc.constantFrom('generate', 'generate', 'usage'), process, index)
  .map(([verb, at, key]) => call(verb as 'generate' | 'usage', at, key));

export const keyCommands = fc.commands(
  [
    fc.constantFrom(undefined, undefined, MINUTE, HOUR).map(create),
    fc
      .tuple(index, fc.constantFrom('none', '1h', '24h', '7d'))
      .map(([key, overlap]) => rotate(key, overlap as keyof typeof OVERLAPS_MS)),
    index.map(revoke),
    fc.tuple(index, fc.boolean()).map(([key, isPaused]) => setPaused(key, isPaused)),
    use,
    use,
    use,
    fc.constant(look),
    fc
      .constantFrom(1, SECOND, 11 * SECOND, 5 * MINUTE, 9 * MINUTE, 18 * MINUTE, HOUR, 25 * HOUR)
      .map(pass),
    fc.boolean().map(turn),
  ],
  { maxCommands: 40, size: '+1' },
);
export const known = { create, rotate, revoke, call, look, pass, turn };
