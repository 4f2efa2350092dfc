/**
 * CPU of the whole router per request and per event, as multiples of D, a proxy that parses nothing, next to other
 * gateways: `npm run bench:gateway`, or `-- 60` for a minute per row, and `-- 20 HEAD~1` with a column of an earlier commit,
 * or `-- 20 HEAD~1 agent` of the rows alone that the pattern names (`-- 20 '' agent` without the column), or
 * `-- 20 '' agent apart` with the columns alone that the last pattern names.
 * bench/README.md says how to read the table.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import {
  CASES,
  type Case,
  FIRST_EVENT,
  FIRST_EVENT_COMPRESSED,
  FIRST_EVENT_OF_AGENT,
  YOUNG,
} from './gateway/cases.ts';
import { load, type Target } from './gateway/client.ts';
import { addedToFirstText, firstTextMs, spreadOf } from './gateway/first-text.ts';
import { type Measured, type Parties, type Party, startParties } from './gateway/parties.ts';
import { cpuOf, stop, stopAll } from './gateway/processes.ts';
import { median } from './median.ts';

const ROW_MS = Number(process.argv[2] ?? 20) * 1_000;
/** Names of rows that are measured. */
const ROWS = new RegExp(process.argv[4] ?? '');
/** Names of parties that are measured. */
const COLUMNS = new RegExp(process.argv[5] ?? '');
/** Of each process with each case, before the first row. */
const WARM_MS = 3_000;
const MIN_ROUNDS = 2;
/** After it listens, a process still collects what its start left. */
const SETTLE_MS = 150;

/** CPU per request, or per event of a stream, in microseconds. */
const cpuPerUnit = async ({ pid, ...target }: Measured, current: Case): Promise<number> => {
  const before = cpuOf(pid);
  await load(target, current);
  return (cpuOf(pid) - before) / (current.requests * (current.stream ? current.events : 1));
};

/** CPU of requests 3 to 22 of a fresh process, in microseconds each. */
const cpuOfYoung = async (launch: Party['launch']): Promise<number> => {
  const young = await launch();
  await delay(SETTLE_MS);
  await load(young, { ...YOUNG, requests: 2 });
  const cpu = await cpuPerUnit(young, YOUNG);
  stop(young.pid);
  return cpu;
};

/** Sends the case long enough that V8 has compiled what it needs. */
const warm = async (target: Target, current: Case): Promise<void> => {
  const endsAt = performance.now() + WARM_MS;
  while (performance.now() < endsAt)
    await load(target, { ...current, requests: current.connections });
};

/** Whether a gateway answers a case at all: not every one translates. */
const answers = ({ running }: Party, current: Case): Promise<boolean> =>
  load(running, { ...current, requests: 1, connections: 1 }).then(
    () => true,
    () => false,
  );

/** What one party's samples show, each next to the sample of D right before it. */
type Column = { values: number[]; ratios: number[] };
type Row = { floors: number[]; columns: Map<string, Column> };

/** D is measured right before each party, so that both see the same machine. */
const compare = async (
  { d, others }: { d: Party; others: Party[] },
  measure: (party: Party) => Promise<number>,
  ms: number,
): Promise<Row> => {
  const row: Row = { floors: [], columns: new Map() };
  for (const { name } of others) row.columns.set(name, { values: [], ratios: [] });
  const endsAt = performance.now() + ms;
  for (let round = 0; round < MIN_ROUNDS || performance.now() < endsAt; round += 1) {
    for (const party of others) {
      const floor = await measure(d);
      const value = await measure(party);
      row.floors.push(floor);
      row.columns.get(party.name)?.values.push(value);
      row.columns.get(party.name)?.ratios.push(value / floor);
    }
  }
  return row;
};

/** The routers, and the peers that answer the case. */
const measuredIn = async ({ routers, peers }: Parties, current: Case): Promise<Party[]> => {
  const others = [...routers];
  for (const peer of peers) if (await answers(peer, current)) others.push(peer);
  return others;
};

const print = (label: string, cells: string[]) =>
  console.log(label.padEnd(40) + cells.map((cell) => cell.padStart(19)).join(''));

type Started = Awaited<ReturnType<typeof startParties>>;

const printBudget = async ({ routers, budgeted }: Started): Promise<void> => {
  const plain = routers.find(({ running }) => running.url === budgeted.url)?.running;
  for (const current of [FIRST_EVENT, FIRST_EVENT_COMPRESSED, FIRST_EVENT_OF_AGENT]) {
    const name = `a budget adds to the ${current.name.replace('event', 'text')}`;
    if (!plain || !ROWS.test(name)) continue;
    for (const target of [plain, budgeted]) await warm(target, current);
    print(name, ['median, us', '95 %', 'quartiles', 'pairs']);
    print('', spreadOf(await addedToFirstText([plain, budgeted], current, 2 * ROW_MS)));
  }
};

const runAll = async (started: Started) => {
  const { d, upstream } = started;
  const [routers, peers] = [started.routers, started.peers].map((parties) =>
    parties.filter(({ name }) => COLUMNS.test(name)),
  ) as [Party[], Party[]];
  const parties = { ...started, routers, peers };
  const names = [...routers, ...peers].map(({ name }) => name);
  const printRow = (name: string, { floors, columns }: Row) => {
    const ratios = names.map((party) => columns.get(party)?.ratios);
    const cells = ratios.map((values) => (values ? median(values).toFixed(1) : '-'));
    print(name, [median(floors).toFixed(1), ...cells]);
  };
  const measured = new Map<Case, Party[]>();
  const cases = CASES.filter(({ name }) => ROWS.test(name));
  for (const current of cases) {
    const others = await measuredIn(parties, current);
    for (const { running } of [d, ...others]) await warm(running, current);
    measured.set(current, others);
  }
  print('CPU', ['D, us', ...names.map((name) => `${name}, x D`)]);
  const rows = new Map<string, Row>();
  for (const [current, others] of measured) {
    const measure = ({ running }: Party) => cpuPerUnit(running, current);
    const row = await compare({ d, others }, measure, ROW_MS);
    printRow(current.name, row);
    rows.set(current.name, row);
  }
  const youngRow = 'requests 3 to 22 of a process';
  if (ROWS.test(youngRow)) {
    const young = ({ launch }: Party) => cpuOfYoung(launch);
    const fresh = await compare({ d, others: await measuredIn(parties, YOUNG) }, young, 2 * ROW_MS);
    printRow(youngRow, fresh);
  }
  for (const current of [FIRST_EVENT, FIRST_EVENT_COMPRESSED, FIRST_EVENT_OF_AGENT]) {
    const name = `time added to the ${current.name.replace('event', 'text')}`;
    if (!ROWS.test(name)) continue;
    const added = async ({ running }: Party) =>
      1_000 * ((await firstTextMs(running, current)) - (await firstTextMs(upstream, current)));
    const others = await measuredIn(parties, current);
    printRow(name, await compare({ d, others }, added, 2 * ROW_MS));
  }
  const rate = (microseconds?: number[]) =>
    microseconds ? (1e6 / median(microseconds)).toFixed(0) : '-';
  for (const { name } of cases.slice(0, 2)) {
    const { floors = [], columns } = rows.get(name) ?? {};
    const rates = names.map((party) => rate(columns?.get(party)?.values));
    print(`requests/s: ${name}`, [rate(floors), ...rates]);
  }
};

const folder = mkdtempSync(join(tmpdir(), 'bench-'));
try {
  const parties = await startParties(folder, process.argv[3] || undefined);
  await runAll(parties);
  await printBudget(parties);
} finally {
  stopAll();
  rmSync(folder, { recursive: true });
}
