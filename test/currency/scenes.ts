import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type AgentPackage, installLatest, versionOf } from '../agents/install-agents.ts';
import { AGENTS, performAgent, print, type Stage, withStage } from '../agents/play.ts';
import { run } from '../agents/run.ts';
import { SDKS, type Sdk, versionIn } from './packages.ts';
import { noteShapes, type Shape } from './request-shape.ts';

/**
 * Plays the scenes of test/agents with the newest agents, and the tests of test/sdk with the newest SDKs, in `.tmp/latest`:
 * `npm run scenes -- --latest`, or with parts of names. What a client sends is compared with what it sent when it was last
 * green, which `-- --latest --keep` writes down.
 */
const GREEN = fileURLToPath(new URL('../fixtures/green-clients.json', import.meta.url));
const SCRATCH = fileURLToPath(new URL('../../.tmp/latest', import.meta.url));
const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const TESTS = ['openai', 'anthropic', 'responses', 'held-sessions', 'strict-upstreams'];
const SDK_MS = 600_000;

type Green = Record<string, { version: string; shape: Shape }>;
type Result = { client: string; version: string; failures: string[]; shape: Shape };

const args = process.argv.slice(2);
const wanted = args.filter((one) => !one.startsWith('--'));
const isWanted = (name: string) =>
  wanted.length === 0 || wanted.some((part) => name.includes(part));

const agents = AGENTS.filter(({ name }) => isWanted(name));
const packages = [...new Set(agents.map((one) => one.package))];

const playAgents = async (stage: Stage): Promise<Result[]> => {
  const take = noteShapes(stage.router.baseUrl);
  const results = new Map<AgentPackage, Result>();
  for (const agent of agents) {
    const failures = await performAgent(stage, agent);
    const { package: client } = agent;
    const known = results.get(client) ?? {
      client,
      version: versionOf(client),
      failures: [],
      shape: [],
    };
    known.failures.push(...failures.map((scene) => `${agent.name}: ${scene}`));
    known.shape = [...new Set([...known.shape, ...take()])].toSorted();
    results.set(client, known);
  }
  return [...results.values()];
};

/** Installs the newest SDKs without their scripts, and returns their folders. @throws Error */
const installSdks = async (sdks: Sdk[]): Promise<[Sdk, string][]> => {
  const folder = join(SCRATCH, 'sdks');
  mkdirSync(folder, { recursive: true });
  const dependencies = Object.fromEntries(sdks.map((name) => [name, 'latest']));
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ private: true, dependencies }));
  const options = { cwd: folder, env: process.env, input: '', timeoutMs: SDK_MS };
  const { code, stderr } = await run('npm', ['update', '--ignore-scripts'], options);
  if (code !== 0) throw new Error(`npm could not install the SDKs:\n${stderr}`);
  return sdks.map((name) => [name, join(folder, 'node_modules', name)]);
};

/** The tests with the newest SDKs in place of those of the lock (vitest.config.ts). */
const playSdks = async (): Promise<Result[]> => {
  const sdks = SDKS.filter(isWanted);
  if (sdks.length === 0) return [];
  const roots = await installSdks(sdks);
  const env = {
    ...process.env,
    NO_COLOR: '1',
    NEWEST_SDKS: JSON.stringify(Object.fromEntries(roots)),
  };
  const tests = TESTS.map((name) => `test/sdk/${name}.test.ts`);
  const options = { cwd: ROOT, env, input: '', timeoutMs: SDK_MS };
  const { code, stdout } = await run('npx', ['vitest', 'run', ...tests], options);
  const failed = [...stdout.matchAll(/FAIL\S*\s+(.+)/g)].map(([, name = '']) => name);
  const failures =
    code === 0 ? [] : [...new Set(failed.length > 0 ? failed : [`exit code ${code}`])];
  return roots.map(([client, root]) => ({ client, version: versionIn(root), failures, shape: [] }));
};

const differencesOf = (before: Shape | undefined, after: Shape): string[] => {
  if (!before) return [];
  return [
    ...after.filter((line) => !before.includes(line)).map((line) => `+ ${line}`),
    ...before.filter((line) => !after.includes(line)).map((line) => `- ${line}`),
  ];
};

const green: Green = JSON.parse(readFileSync(GREEN, 'utf8'));
if (packages.length > 0) await installLatest(packages);
const results = [
  ...(packages.length > 0 ? await withStage(playAgents) : []),
  ...(await playSdks()),
];

print('\n| Client | Version | Result | Last green | What it sends otherwise |');
print('| --- | --- | --- | --- | --- |');
for (const { client, version, failures, shape } of results) {
  const last = green[client];
  const result = failures.length === 0 ? 'green' : `red: ${failures.join('; ')}`;
  const differences = differencesOf(last?.shape, shape).join('; ') || '–';
  print(`| \`${client}\` | ${version} | ${result} | ${last?.version ?? '–'} | ${differences} |`);
  if (failures.length === 0) green[client] = { version, shape };
}
if (args.includes('--keep')) writeFileSync(GREEN, `${JSON.stringify(green, null, 2)}\n`);
process.exitCode = results.some(({ failures }) => failures.length > 0) ? 1 : 0;
