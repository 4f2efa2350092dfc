import { execFile, spawnSync } from 'node:child_process';
import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { run } from '../../cli/run.ts';
import { parseModels } from '../../lambdas/catalog/parse-models.ts';
import type { LocalRouter } from '../../local/start.ts';
import { startCostReports } from '../support/cost-reports.ts';
import { MODEL_ON, post, startWatched } from '../support/local.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { startUserPool, type UserPoolStandIn } from '../support/user-pool.ts';
import { read } from './pins.ts';

const execute = promisify(execFile);
const root = fileURLToPath(new URL('../..', import.meta.url));
const hasCurl = spawnSync('curl', ['--version']).status === 0;
const folder = temporaryFolder('docs-commands');

const PAGES = [
  ...['README.md', 'CONTRIBUTING.md'],
  ...readdirSync(join(root, 'docs'))
    .filter((name) => name.endsWith('.md'))
    .sort()
    .map((name) => `docs/${name}`),
];

/** The blocks of a page in one language. */
const blocksIn = (page: string, language: string): string[] =>
  [...read(page).matchAll(new RegExp(`^\`\`\`${language}\n(.*?)^\`\`\``, 'gms'))].map(
    ([, block = '']) => block,
  );

/** The commands of a page's shell blocks, without comments. */
const commandsIn = (page: string): string[] =>
  blocksIn(page, 'sh')
    .flatMap((block) => block.replaceAll(/\\\n */g, '').split(/\n| && /))
    .map((line) => line.replace(/\s+#.*/, ''))
    .filter(Boolean);

const ADMIN = /^npm run (?:-s )?admin -- /;
/** Each command once, on its first page: a page continues with what those above it created. */
const adminCommands = [...new Set(PAGES.flatMap(commandsIn))].filter((command) =>
  ADMIN.test(command),
);

/** A command that hangs must not outlive its test. */
const CHILD_MS = 60_000;

const REQUEST = { model: MODEL_ON.chat, messages: [{ role: 'user', content: 'say Hello' }] };

/** Of an operator at a provider. */
const CREDENTIAL = 'sk-ant-admin01-of-the-operator';

let reports: Awaited<ReturnType<typeof startCostReports>>;
let cognito: UserPoolStandIn;
let router: LocalRouter;
/** What a reader puts in the place of the words in capitals, or of the examples. */
const values = { key: '', keyId: '', requestId: '', seed: '', customers: '', invoice: '' };

beforeAll(async () => {
  cognito = await startUserPool();
  reports = await startCostReports(() => [], CREDENTIAL);
  router = await startWatched({ members: cognito.pool });
  await post(router, '/admin/projects', { id: 'checkout' });
  const response = await post(router, '/v1/chat/completions', REQUEST);
  values.requestId = response.headers.get('x-request-id') ?? '';
  expect(values.requestId).toMatch(/^req_/);
  values.seed = join(folder, 'seed.json');
  writeFileSync(values.seed, blocksIn('docs/deploy.md', 'json')[0] ?? '');
  values.invoice = join(folder, 'november.csv');
  writeFileSync(values.invoice, 'day,model,kind,quantity,cost_usd\n');
  values.customers = join(folder, 'customers.json');
  writeFileSync(values.customers, JSON.stringify({ local: 'cus_local', team: 'cus_team' }));
});
afterAll(() => Promise.all([router.close(), cognito.close(), reports.close()]));

/** The words of a command as a reader types them, for the router of this test. */
const wordsOf = (command: string): string[] =>
  [
    ...command
      .replace(ADMIN, '')
      .replace(/ > .*/, '')
      .replace(/ --stack \S+/, '')
      .replace('acme/large', MODEL_ON.chat)
      .replace('mrk_live_a1B2', values.key.slice(0, 13))
      .replace(/KEY-ID|key_…/, values.keyId)
      .replace(/REQUEST-ID|req_\S*…/, values.requestId)
      .replace('seed.json', values.seed)
      .replace('customers.json', values.customers)
      .replace('november.csv', values.invoice)
      .replace('--out ', `--out ${folder}/`)
      .matchAll(/"([^"]*)"|(\S+)/g),
  ].map(([, quoted, word]) => quoted ?? word ?? '');

test('the pages have more than 30 admin commands', () => {
  expect(adminCommands.length).toBeGreaterThan(30);
});

test.each(adminCommands)('%s runs after the commands of the pages above it', async (command) => {
  const [stdout, stderr] = [new PassThrough(), new PassThrough()];
  const env = { ANTHROPIC_ADMIN_KEY: CREDENTIAL, ANTHROPIC_BASE_URL: reports.url };
  const io = { stdin: process.stdin, stdout, stderr, env };
  await run([...wordsOf(command), '--url', router.baseUrl, '--yes'], Date.now(), io);
  const out = await text(stdout.end());
  expect(out.trim()).not.toBe('');
  values.key = /\bmrk_live_\w{32,}/.exec(out)?.[0] ?? values.key;
  values.keyId = /^id +(key_\w+)/m.exec(out)?.[1] ?? values.keyId;
});

test('a command whose output is written to a file has -s, or the file begins with the lines of npm', () => {
  const redirected = PAGES.flatMap(commandsIn).filter((command) => /^npm run .* > /.test(command));
  expect(redirected).not.toEqual([]);
  expect(redirected.filter((command) => !command.startsWith('npm run -s '))).toEqual([]);
});

test('the scripts of README.md print the responses to the SDKs', async () => {
  const code = [
    `const key = '${router.key}';`,
    ...blocksIn('README.md', 'ts'),
    'console.log(message.content[0].text);',
  ].join('\n');
  const script = ['--input-type=module', '--eval', code];
  const { stdout } = await execute(
    process.execPath,
    script.map((word) => word.replaceAll('http://127.0.0.1:8787', router.baseUrl)),
    { cwd: root, timeout: CHILD_MS },
  );
  expect(stdout.match(/Hello from scribe-1! You said "Hello"\./g)).toHaveLength(3);
});

describe.skipIf(!hasCurl)('the curl commands of the pages', () => {
  const environment = { ...process.env, NO_PROXY: '*' };
  const options = { cwd: folder, timeout: CHILD_MS };
  const curlOf = (page: string) =>
    commandsIn(page).find((command) => command.startsWith('curl ')) ?? '';

  test('the curl command of docs/replay.md gets a response', async () => {
    writeFileSync(join(folder, 'request.json'), JSON.stringify(REQUEST));
    const env = { ...environment, URL: router.baseUrl, KEY: router.key };
    const command = ['-c', curlOf('docs/replay.md')];
    const { stdout } = await execute('sh', command, { ...options, env });
    expect(stdout).toContain('"content":"Hello"');
  });

  test('the curl command of docs/deploy.md streams a response', async () => {
    const command = curlOf('docs/deploy.md')
      .replace('FUNCTION-URL', router.baseUrl)
      .replace('Bearer KEY', `Bearer ${router.key}`)
      .replace('VENDOR/MODEL', MODEL_ON.chat);
    const { stdout } = await execute('sh', ['-c', command], { ...options, env: environment });
    expect(stdout).toMatch(/"content":"Hello"[\s\S]*data: \[DONE\]/);
  });
});

test('the catalog of docs/local.md is valid', () => {
  const [catalog = ''] = blocksIn('docs/local.md', 'json');
  expect(parseModels(JSON.parse(catalog))).toHaveLength(1);
});
