import { describe, expect, test } from 'vitest';
import { createTable } from '../../../lambdas/stores/dynamo/table.ts';
import { openFolderKind } from '../../contracts/kinds.ts';
import { TABLE_NAMES } from '../../support/dynamo.ts';
import { startMemory } from '../../support/memory-stores.ts';

const ITEMS = 1_800;
/** Of 500 items. */
const PAGES = 4;

describe.each([
  ['in memory', startMemory],
  ['in a data folder', openFolderKind],
])('%s', (_, start) => {
  test('whoever reads a long list lets other requests have their turns between its pages', async () => {
    const { client, close } = await start();
    const table = createTable({ client, tableName: TABLE_NAMES.records });
    for (let item = 0; item < ITEMS; item += 1) {
      await table.apply({ partition: 'day', sort: `${item}` }, { set: { entry: 'a record' } });
    }
    let turns = 0;
    let isRead = false;
    const takeTurns = () => {
      turns += 1;
      if (!isRead) setImmediate(takeTurns);
    };
    takeTurns();
    const sizes: number[] = [];
    for await (const items of table.range({ partition: 'day' })) sizes.push(items.length);
    const taken = turns;
    isRead = true;
    await close();
    expect(sizes).toHaveLength(PAGES);
    expect(taken).toBeGreaterThanOrEqual(PAGES);
  });
});
