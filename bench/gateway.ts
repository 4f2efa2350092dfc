/**
 * CPU of the whole router per request and per event, as multiples of D, a proxy that parses nothing:
 * `npm run bench`. bench/README.md says how to read the table.
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

const ROUNDS = Number(process.argv[2] ?? 3);

type Measured = Target & { pid: number };

type Sample = { cpu: number; firstByteMs: number };

/** CPU per request, or per event of a stream, and the median time to the first byte. */
const measure = async ({ pid, ...target }: Measured, current: Case): Promise<Sample> => {
  const before = cpuOf(pid);
  const { firstByteMs } = await load(target, current);
  const units = current.requests * (current.stream ? current.events : 1);
  return { cpu: (cpuOf(pid) - before) / units, firstByteMs: median(firstByteMs) };
};

type Row = {
  name: string;
  d: number[];
  cpu: Record<string, number[]>;
  ratios: Record<string, number[]>;
  addedMs: Record<string, number[]>;
};

/** D runs right before each target, so that both see the same machine. */
const runRound = async (d: Measured, targets: Record<string, Measured>, rows: Row[]) => {
  for (const [name, target] of Object.entries(targets)) {
    for (const [index, current] of CASES.entries()) {
      const floor = await measure(d, current);
      const sample = await measure(target, current);
      const row = rows[index];
      row?.d.push(floor.cpu);
      (row?.cpu[name] ?? []).push(sample.cpu);
      (row?.ratios[name] ?? []).push(sample.cpu / floor.cpu);
      (row?.addedMs[name] ?? []).push(sample.firstByteMs - floor.firstByteMs);
    }
  }
};

const print = (rows: Row[], names: string[]) => {
  const line = (label: string, cells: string[]) =>
    console.log(label.padEnd(36) + cells.map((cell) => cell.padStart(20)).join(''));
  line('CPU, and added ms to the first byte', ['D, us', ...names.map((name) => `${name}, x D`)]);
  for (const { name, d, ratios, addedMs } of rows) {
    const cells = names.map((target) => {
      const added = median(addedMs[target] ?? []).toFixed(1);
      return `${median(ratios[target] ?? []).toFixed(1)} (+${added})`;
    });
    line(name, [median(d).toFixed(1), ...cells]);
  }
  const rate = (microseconds: number[] = []) => (1e6 / median(microseconds)).toFixed(0);
  for (const { name, d, cpu } of rows.slice(0, 2)) {
    line(`requests/s: ${name}`, [rate(d), ...names.map((target) => rate(cpu[target]))]);
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
  const names = Object.keys(targets);
  const empty = () => Object.fromEntries(names.map((name): [string, number[]] => [name, []]));
  const newRows = (): Row[] =>
    CASES.map(({ name }) => ({
      ...{ name, d: [], cpu: empty(), ratios: empty(), addedMs: empty() },
    }));
  // The first round compiles the code of every case, and is discarded.
  await runRound(d, targets, newRows());
  const rows = newRows();
  for (let round = 0; round < ROUNDS; round += 1) await runRound(d, targets, rows);
  print(rows, names);
} finally {
  stopAll();
  rmSync(folder, { recursive: true });
}
