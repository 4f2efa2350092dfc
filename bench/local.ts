/**
 * What a stranger's benchmark of the installed router shows: `npm run bench:local`, or `-- 30` for 30 seconds per row. The
 * router is a process as `npm start` starts it, in memory and with --data; every request is metered and recorded.
 * bench/README.md says how to read the table.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { CASES, type Case, FIRST_EVENT, FIRST_EVENT_OF_AGENT } from './gateway/cases.ts';
import { load, type Target } from './gateway/client.ts';
import { addedToFirstText, spreadOf } from './gateway/first-text.ts';
import { cpuOf, start, stopAll, tie } from './gateway/processes.ts';
import { modelsAt } from './gateway/setting.ts';

const ROW_MS = Number(process.argv[2] ?? 10) * 1_000;
const WARM_MS = 3_000;
/** Load before each measurement of a row: V8 compiles a process's code in its first 25,000 small requests or so. */
const WARM_UP_MS = { young: WARM_MS, warm: 30_000 };
const MAIN = fileURLToPath(new URL('../local/main.ts', import.meta.url));
const NAMES = ['whole, 20 events, pass-through', 'agent body 250 KB, chat to chat'];
/** Of a process that serves nothing smaller: what V8 learns of its first requests stays. */
const AGENT_ALONE = 'agent body 400 KB, messages to messages';

type Router = Target & { pid: number };

const post = async (url: string, body: object): Promise<Record<string, unknown>> => {
  const headers = { 'content-type': 'application/json' };
  const response = await fetch(url, { method: 'POST', headers, body: JSON.stringify(body) });
  if (!response.ok) throw new Error(`${url}: ${response.status} ${await response.text()}`);
  return (await response.json()) as Record<string, unknown>;
};

/** The same router for a key whose project has a budget that no bench spends. */
const underBudget = async ({ url }: Target): Promise<Target> => {
  await post(`${url}/admin/projects`, { id: 'budgeted' });
  const { key } = await post(`${url}/admin/projects/budgeted/keys`, { plan: 'local' });
  await post(`${url}/admin/projects/budgeted/budget`, { max_usd: 1e6, period: 'total' });
  return { url, headers: { authorization: `Bearer ${key}` } };
};

const startRouter = async (files: string[], args: string[]): Promise<Router> => {
  const child = spawn(process.execPath, [MAIN, '--json', '--port', '0', ...files, ...args], {
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  process.once('exit', () => child.kill('SIGKILL'));
  const [line] = await once(createInterface(child.stdout), 'line');
  const { baseUrl, key } = JSON.parse(String(line)) as { baseUrl: string; key: string };
  await post(`${baseUrl}/admin/plans/local`, { rpm: 1e9, quota: 1e9 });
  const pid = child.pid ?? 0;
  tie(pid, 0);
  return { pid, url: baseUrl, headers: { authorization: `Bearer ${key}` } };
};

const quantile = (values: number[], share: number): number =>
  values.toSorted((a, b) => a - b)[Math.floor(share * (values.length - 1))] ?? 0;

/** Milliseconds of requests that are sent one after the other. */
const timesOf = async (target: Target, current: Case): Promise<number[]> => {
  const times: number[] = [];
  for (let sent = 0; sent < 500; sent += 1) {
    const startedAt = performance.now();
    await load(target, { ...current, requests: 1, connections: 1 });
    times.push(performance.now() - startedAt);
  }
  return times;
};

const repeat = async (target: Target, current: Case, ms: number): Promise<number> => {
  const endsAt = performance.now() + ms;
  let requests = 0;
  while (performance.now() < endsAt) {
    await load(target, current);
    requests += current.requests;
  }
  return requests;
};

const print = (cells: (string | number)[]) =>
  console.log(
    cells.map((cell, at) => (at === 0 ? `${cell}`.padEnd(54) : `${cell}`.padStart(15))).join(''),
  );

const measure = async (name: string, router: Router, upstream: Target, current: Case) => {
  const [cpu, startedAt] = [cpuOf(router.pid), performance.now()];
  const requests = await repeat(router, current, ROW_MS);
  const microseconds = (cpuOf(router.pid) - cpu) / requests;
  const seconds = (performance.now() - startedAt) / 1_000;
  const [direct, routed] = [await timesOf(upstream, current), await timesOf(router, current)];
  const added = (share: number) => (quantile(routed, share) - quantile(direct, share)).toFixed(2);
  print([
    name,
    microseconds.toFixed(0),
    (1e6 / microseconds).toFixed(0),
    (requests / seconds).toFixed(0),
    added(0.5),
    added(0.99),
  ]);
};

const folder = mkdtempSync(join(tmpdir(), 'bench-local-'));
try {
  const upstream = { ...(await start<{ url: string }>('upstream.ts')), headers: {} };
  const [catalog, secrets] = [join(folder, 'catalog.json'), join(folder, 'secrets.json')];
  writeFileSync(catalog, JSON.stringify(modelsAt(upstream.url)));
  writeFileSync(secrets, JSON.stringify({ bench: 'upstream' }));
  const files = ['--catalog', catalog, '--secrets', secrets];
  print(['', 'CPU, us', '1 s of a core', 'requests/s', 'p50 added, ms', 'p99 added, ms']);
  const alone = await startRouter(files, []);
  for (const current of CASES.filter(({ name }) => name === AGENT_ALONE)) {
    await repeat(alone, current, WARM_UP_MS.warm);
    await measure(`in memory, alone: ${current.name}`, alone, upstream, current);
  }
  process.kill(alone.pid, 'SIGKILL');
  const kinds = { 'in memory': [], '--data': ['--data', join(folder, 'data')] };
  for (const [name, args] of Object.entries(kinds)) {
    const router = await startRouter(files, args);
    for (const current of CASES.filter((one) => NAMES.includes(one.name))) {
      for (const [age, ms] of Object.entries(WARM_UP_MS)) {
        await repeat(router, current, ms);
        await measure(`${name}, ${age}: ${current.name}`, router, upstream, current);
      }
    }
    for (const side of [upstream, router]) await repeat(side, FIRST_EVENT_OF_AGENT, WARM_MS);
    const first = await addedToFirstText([upstream, router], FIRST_EVENT_OF_AGENT, ROW_MS);
    print([`${name}: to the first text of 30 KB, us`, ...spreadOf(first)]);
    const sides: [Target, Target] = [router, await underBudget(router)];
    for (const side of sides) await repeat(side, FIRST_EVENT, WARM_MS);
    const added = await addedToFirstText(sides, FIRST_EVENT, 2 * ROW_MS);
    print([`${name}: a budget adds to the first text, us`, ...spreadOf(added)]);
    process.kill(router.pid, 'SIGKILL');
  }
} finally {
  stopAll();
  rmSync(folder, { recursive: true });
}
