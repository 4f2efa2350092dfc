/**
 * Compares the prices of a catalog with a public table, the package `@pydantic/genai-prices` (MIT; its version is the date of
 * its data): `npm run prices -- my-models.json`, by default the shipped catalog.
 */
import { fileURLToPath } from 'node:url';
import { pricesOf } from '../lambdas/catalog/catalog.ts';
import type { Model, Target } from '../lambdas/catalog/parse-models.ts';
import { versionOn } from '../lambdas/money/cost.ts';
import type { TokenKind } from '../lambdas/money/prices.ts';
import { readModels } from './own-catalog.ts';
import { priceIn, rowOf } from './price-table.ts';

const SHIPPED = fileURLToPath(new URL('../lambdas/catalog/models.json', import.meta.url));

/** Kinds of the catalog by the names of the table, both in dollars a million tokens. */
const TABLE_KINDS: [kind: TokenKind, name: string][] = [
  ['input', 'input_mtok'],
  ['cache_read', 'cache_read_mtok'],
  ['cache_write_5m', 'cache_write_mtok'],
  ['cache_write_30m', 'cache_write_mtok'],
  ['cache_write_1h', 'cache_write_1h_mtok'],
  ['output', 'output_mtok'],
];

type Row = { model: string; target: string; kind: string; catalog: string; table: string };

const NO_ENTRY = 'not in the table';

/** The kinds of a target whose price is another one in the table, or missing in either. */
const differencesOf = (model: Model, target: Target, day: string): Row[] => {
  const place = { model: model.id, target: `${target.upstream}/${target.model}` };
  const known = rowOf(target);
  if (!known) return [{ ...place, kind: '-', catalog: '-', table: NO_ENTRY }];
  const version = versionOn(pricesOf(model, target), day);
  const vendorWrites = version.cache_write_30m === undefined ? 'cache_write_30m' : 'cache_write_5m';
  return TABLE_KINDS.flatMap(([kind, name]) => {
    if (kind === vendorWrites) return [];
    const [ours, theirs] = [version[kind] ?? undefined, priceIn(known.model_price[name])];
    if (ours === theirs) return [];
    return [{ ...place, kind, catalog: String(ours ?? 'none'), table: String(theirs ?? 'none') }];
  });
};

const lineOf = (row: Row): string =>
  `${row.model}  ${row.target}  ${row.kind}  catalog ${row.catalog}  table ${row.table}`;

const main = async (path = SHIPPED): Promise<number> => {
  const models = await readModels(path);
  const day = new Date().toISOString().slice(0, 10);
  const rows = models.flatMap((model) =>
    model.targets.flatMap((target) => differencesOf(model, target, day)),
  );
  const differing = rows.filter(({ table }) => table !== NO_ENTRY);
  for (const row of rows) process.stdout.write(`${lineOf(row)}\n`);
  process.stdout.write(`${differing.length} prices differ\n`);
  return differing.length === 0 ? 0 : 1;
};

try {
  process.exitCode = await main(process.argv[2]);
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : error}\n`);
  process.exitCode = 2;
}
