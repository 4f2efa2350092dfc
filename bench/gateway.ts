/**
 * CPU of the whole router per request and per event, as multiples of D, a proxy that parses nothing:
 * `npm run bench:gateway`, or `-- 60` for a minute per row. bench/README.md says how to read the table.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { bundle, WEB_BUNDLE } from '../lib/bundle/bundle.ts';
import { CASES, type Case } from './gateway/cases.ts';
import { load, type Target } from './gateway/client.ts';
import { cpuOf, start, startRouter, stopAll } from './gateway/processes.ts';
import { environmentOn, modelsAt, startStores } from './gateway/setting.ts';
import { median } from './median.ts';

const ROW_MS = Number(process.argv[2] ?? 20) * 1_000;
const MIN_ROUNDS = 2;

type Measured = Target & { pid: number };

type Sample = { cpu: number; firstByteMs: number };

/** CPU per request, or per event of a stream, and the median time to the first byte. */
const measure = async ({ pid, ...target }: Measured, current: Case): Promise<Sample> => {
  const before = cpuOf(pid);
  const { firstByteMs } = await load(target, current);
  const units = current.requests * (current.stream ? current.events : 1);
  return { cpu: (cpuOf(pid) - before) / units, firstByteMs: median(firstByteMs) };
};

/** What one target's samples show, each next to the sample of D right before it. */
type Column = { cpu: number[]; ratios: number[]; addedMs: number[] };

/** D runs right before each target, so that both see the same machine. Returns D's samples. */
const runRound = async (
  current: Case,
  { d, targets, columns }: { d: Measured; targets: Measured[]; columns: Column[] },
): Promise<number[]> => {
  const floors: number[] = [];
  for (const [index, target] of targets.entries()) {
    const floor = await measure(d, current);
    const sample = await measure(target, current);
    floors.push(floor.cpu);
    columns[index]?.cpu.push(sample.cpu);
    columns[index]?.ratios.push(sample.cpu / floor.cpu);
    columns[index]?.addedMs.push(sample.firstByteMs - floor.firstByteMs);
  }
  return floors;
};

const runRow = async (current: Case, parties: { d: Measured; targets: Measured[] }) => {
  const empty = () => parties.targets.map((): Column => ({ cpu: [], ratios: [], addedMs: [] }));
  // The first round compiles the code of the case, and is discarded.
  await runRound(current, { ...parties, columns: empty() });
  const columns = empty();
  const floors: number[] = [];
  const endsAt = performance.now() + ROW_MS;
  for (let round = 0; round < MIN_ROUNDS || performance.now() < endsAt; round += 1) {
    floors.push(...(await runRound(current, { ...parties, columns })));
  }
  return { name: current.name, floors, columns };
};

const print = (label: string, cells: string[]) =>
  console.log(label.padEnd(40) + cells.map((cell) => cell.padStart(20)).join(''));

const runAll = async (d: Measured, targets: Record<string, Measured>) => {
  const names = Object.keys(targets);
  print('CPU, and added ms to the first byte', ['D, us', ...names.map((name) => `${name}, x D`)]);
  const rows: Awaited<ReturnType<typeof runRow>>[] = [];
  for (const current of CASES) {
    const row = await runRow(current, { d, targets: Object.values(targets) });
    const cells = row.columns.map(
      ({ ratios, addedMs }) => `${median(ratios).toFixed(1)} (+${median(addedMs).toFixed(1)})`,
    );
    print(row.name, [median(row.floors).toFixed(1), ...cells]);
    rows.push(row);
  }
  const rate = (microseconds: number[]) => (1e6 / median(microseconds)).toFixed(0);
  for (const { name, floors, columns } of rows.slice(0, 2)) {
    print(`requests/s: ${name}`, [rate(floors), ...columns.map(({ cpu }) => rate(cpu))]);
  }
};

const folder = mkdtempSync(join(tmpdir(), 'bench-'));
try {
  const upstream = await start<{ url: string }>('upstream.ts');
  const pipe = await start<{ url: string }>('pipe.ts', upstream.url);
  const { key, stores } = await startStores();
  const catalog = join(folder, 'models.json');
  writeFileSync(catalog, JSON.stringify(modelsAt(upstream.url)));
  const { file } = bundle({ ...WEB_BUNDLE, outdir: folder, catalog });
  const d: Measured = { ...pipe, headers: {} };
  const headers = { authorization: `Bearer ${key}` };
  const apart = bundle({
    ...{ ...WEB_BUNDLE, entry: 'bench/gateway/store-apart.ts' },
    ...{ outdir: join(folder, 'apart'), catalog },
  });
  const targets: Record<string, Measured> = {
    'store apart': { ...(await startRouter(apart.file, { BENCH_KEY: key })), headers },
  };
  for (const [name, store] of Object.entries(stores)) {
    const router = await startRouter(file, environmentOn(store));
    targets[name] = { ...router, headers };
  }
  await runAll(d, targets);
} finally {
  stopAll();
  rmSync(folder, { recursive: true });
}
