import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startEnvironment, startWorld, type World } from './freezes/bench.ts';
import {
  type Cell,
  cellsAt,
  complaintsOf,
  recordMoments,
  runCell,
  sampleOf,
  titleOf,
} from './freezes/cells.ts';

/** `all` runs every cell, which takes a minute. */
const runsAll = process.env.FREEZES === 'all';
/** Cells at a time: a table has a second for a call, on an event loop that all share. */
const WIDTH = 6;
const HOUR_MS = 3_600_000;

let world: World;
beforeAll(async () => {
  world = await startWorld();
});
afterAll(() => world.close());

let cells = 0;
const complaintsAbout = async (cell: Cell): Promise<string[]> => {
  cells += 1;
  return complaintsOf(await runCell(world, cell, cells));
};

test('after a freeze of a second to six hours at any moment of a request, on connections that died or were reset, the next request is answered at once by one call, and units are exact', {
  timeout: 600_000,
}, async ({ annotate }) => {
  const all = cellsAt(await recordMoments(world));
  const chosen = runsAll ? all : sampleOf(all);
  const waiting = [...chosen];
  const failed: Cell[] = [];
  const work = async () => {
    for (let cell = waiting.shift(); cell; cell = waiting.shift()) {
      if ((await complaintsAbout(cell)).length > 0) failed.push(cell);
    }
  };
  await Promise.all(Array.from({ length: WIDTH }, work));
  await annotate(
    `${chosen.length} of ${all.length} cells, ${failed.length} of them ran again alone`,
  );
  // On a busy machine a working table may take over a second.
  for (const cell of failed) {
    await expect
      .poll(() => complaintsAbout(cell), { timeout: 60_000, message: titleOf(cell) })
      .toEqual([]);
  }
});

test.each(['runs', 'stands still'] as const)(
  'a key that is paused while look-ups of a rejected request are frozen is rejected, when the monotonic clock %s',
  async (monotonic) => {
    const environment = await startEnvironment(world, `paused-${monotonic.replace(' ', '-')}`);
    try {
      const { clock, proxy, ask, askInvalid, pauseKey } = environment;
      expect((await ask('paused 1', false)).status).toBe(200);
      await pause(50);
      clock.advance(11_000);
      proxy.decide(({ operation }) => (operation === 'GetItem' ? 'late answer' : 'none'));
      expect((await askInvalid()).status).toBe(400);
      await pause(50);
      clock.freeze(HOUR_MS, monotonic);
      proxy.decide(() => 'none');
      await pauseKey();
      expect((await ask('paused 2', false)).status).toBe(401);
      expect((await ask('paused 3', false)).status).toBe(401);
    } finally {
      await environment.close();
    }
  },
);
