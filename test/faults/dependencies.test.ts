import { expect, test } from 'vitest';
import { createRandom } from '../simulation/random.ts';
import { SEED } from '../support/seeds.ts';
import { type CellOutcome, recordSituations, runCells } from './dependencies/bench.ts';
import {
  bystanderStatusesOf,
  type Cell,
  cellsOf,
  longestOf,
  sampleOf,
  statusesOf,
  titleOf,
  usualOf,
} from './dependencies/cells.ts';

/** `all` runs every cell, which takes minutes (`npm run soak:dependencies`). */
const runsAll = process.env.DEPENDENCIES_CELLS === 'all';
const TIMEOUT_MS = 1_800_000;

/** For the repeats of one cell. */
const ALONE_MS = 60_000;

const shuffle = (cells: Cell[]): Cell[] => {
  const random = createRandom(SEED);
  const keyed = cells.map((cell) => ({ cell, order: random.between(0, 1e9) }));
  return keyed.toSorted((one, other) => one.order - other.order).map(({ cell }) => cell);
};

/** What the outcome of a cell has against the promises. */
const complaintsOf = ({ cell, ...seen }: CellOutcome): string[] => {
  const promises: [boolean, string][] = [
    [statusesOf(cell, seen.isMet).includes(seen.sent.status), `status ${seen.sent.status}`],
    [
      bystanderStatusesOf(cell).includes(seen.bystander.status),
      `another tenant's status ${seen.bystander.status}`,
    ],
    [seen.tookMs <= longestOf(cell), `took ${seen.tookMs} ms`],
    [seen.recovered.status === usualOf(cell), `status ${seen.recovered.status} after the fault`],
    [seen.unlogged.length === 0, `no single line for ${seen.unlogged}`],
    [
      seen.charged <= seen.answered && seen.charged >= seen.answered - seen.unpaid,
      `charged ${seen.charged} for ${seen.answered} responses, ${seen.unpaid} logged as unpaid`,
    ],
  ];
  return promises.filter(([isKept]) => !isKept).map(([, text]) => `${titleOf(cell)}: ${text}`);
};

test('a fault in any call to a table or to Secrets Manager ends each request in time with one log line and the right charge, harms no other tenant, and leaves nothing behind', {
  timeout: TIMEOUT_MS,
}, async ({ annotate }) => {
  const recorded = await recordSituations();
  const cells = recorded.flatMap(({ situation, calls }) => cellsOf(situation, calls));
  const kinds = new Set(cells.map(({ call }) => `${call.operation} ${call.table ?? ''}`.trim()));
  expect([...kinds]).toEqual(
    expect.arrayContaining([
      'GetSecretValue',
      'GetItem keys',
      'GetItem plans',
      'GetItem meters',
      'UpdateItem meters',
    ]),
  );
  const chosen = runsAll ? cells : sampleOf(shuffle(cells));
  const outcomes = await runCells(chosen);
  const unmet = outcomes.filter(({ isMet }) => !isMet).map(({ cell }) => titleOf(cell));
  // What is warm may turn stale, and a last write follow late, where the machine is busy.
  expect(unmet.length / outcomes.length).toBeLessThan(0.1);
  await annotate(
    `${outcomes.length} cells, ${unmet.length} of them met no call: ${unmet.join('; ')}`,
  );
  // On a busy machine a working table may take over a second as well: such cells run again, alone.
  for (const { cell } of outcomes.filter((outcome) => complaintsOf(outcome).length > 0)) {
    const again = async () => (await runCells([cell])).flatMap(complaintsOf);
    await expect.poll(again, { timeout: ALONE_MS }).toEqual([]);
  }
});
