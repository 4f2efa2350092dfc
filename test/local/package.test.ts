import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { delimiter, join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import * as z from 'zod';
import { checksAll } from '../support/seeds.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const folder = temporaryFolder('package');

/** No registry is asked: one is named that does not exist, and the cache is empty. */
const npm = (args: string[], cwd: string) => {
  const options = ['--offline', '--no-audit', '--no-fund', `--cache=${join(folder, 'cache')}`];
  const { status, stdout, stderr } = spawnSync('npm', [...args, ...options], {
    ...{ cwd, encoding: 'utf8' },
    env: { ...process.env, npm_config_registry: 'http://127.0.0.1:9/' },
  });
  expect({ status, stderr: status === 0 ? '' : stderr }).toEqual({ status: 0, stderr: '' });
  return stdout;
};

const Packed = z.tuple([
  z.object({
    filename: z.string(),
    size: z.number(),
    unpackedSize: z.number(),
    files: z.array(z.object({ path: z.string() })),
  }),
]);

/** The Node of the tests, and older ones that the machine has. */
const nodes = (): string[] => {
  const found = (process.env.PATH ?? '')
    .split(delimiter)
    .filter((path) => !path.includes('node_modules'))
    .map((path) => join(path, 'node'))
    .filter((path) => existsSync(path))
    .map((path) => realpathSync(path));
  return [...new Set([realpathSync(process.execPath), ...found])];
};

const home = join(folder, 'home');
const command = join(home, 'node_modules', 'model-router', 'dist', 'model-router.mjs');
let tarball: z.infer<typeof Packed>[0];

beforeAll(() => {
  [tarball] = Packed.parse(JSON.parse(npm(['pack', '--json', '--pack-destination', folder], root)));
  npm(['install', '--prefix', home, join(folder, tarball.filename)], folder);
});

const run = (node: string, args: string[]) => {
  const { status, stdout, stderr } = spawnSync(node, [command, ...args], {
    encoding: 'utf8',
    cwd: home,
  });
  return { status, stdout, stderr };
};

const Ready = z.object({ baseUrl: z.url(), key: z.string() });

const start = async (node: string) => {
  const child = spawn(node, [command, '--json', '--port', '0', '--delay', '0'], {
    ...{ cwd: home, stdio: ['ignore', 'pipe', 'inherit'] },
    env: { PATH: process.env.PATH, PORT: '' },
  });
  const [line] = await once(createInterface(child.stdout), 'line');
  return { child, ...Ready.parse(JSON.parse(String(line))) };
};

const MODEL = 'aurora/scribe-1';
const turns = [{ role: 'user', content: 'say hello there' }];
const FAMILIES = {
  '/v1/chat/completions': { stream: true, messages: turns },
  '/v1/messages': { stream: true, messages: turns, max_tokens: 100 },
  '/v1/responses': { stream: true, input: turns },
};

test('the tarball has no dependencies and no sources, and is below 2 MB', () => {
  expect(tarball.size).toBeLessThan(2_000_000);
  const page = readFileSync(join(root, 'docs/local.md'), 'utf8');
  const stated = /\(([\d.]+) MB to download, ([\d.]+) MB on the disk\)/.exec(page);
  for (const [index, size] of [tarball.size, tarball.unpackedSize].entries()) {
    const share = (Number(stated?.[index + 1]) * 1e6) / size;
    expect(share).toBeGreaterThan(0.8);
    expect(share).toBeLessThan(1.25);
  }
  const installed = readdirSync(join(home, 'node_modules')).filter((name) => !name.startsWith('.'));
  expect(installed).toEqual(['model-router']);
  const paths = tarball.files.map(({ path }) => path);
  expect(paths.filter((path) => /\.tsx?$|^(?:node_modules|test)\//.test(path))).toEqual([]);
});

describe.each(nodes())('installed in an empty folder, with %s', (node) => {
  let router: Awaited<ReturnType<typeof start>>;
  beforeAll(async () => {
    router = await start(node);
  });
  afterAll(() => {
    router.child.kill('SIGKILL');
  });

  test.each(Object.entries(FAMILIES))('%s streams a response', async (path, body) => {
    const response = await fetch(`${router.baseUrl}${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${router.key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: MODEL, ...body }),
    });
    expect(response.status).toBe(200);
    expect(await response.text()).toMatch(/hello[\s\S]*there/);
  });

  test('the history has the responses', async () => {
    const since = new Date(Date.now() - 86_400_000).toISOString().slice(0, 10);
    const response = await fetch(`${router.baseUrl}/v1/usage?since=${since}`, {
      headers: { authorization: `Bearer ${router.key}` },
    });
    const charged = Object.keys(FAMILIES).length;
    expect(await response.json()).toMatchObject({ history: { total: { charged } } });
  });

  test('the commands admin and connect, and the console, work without the checkout', async () => {
    const usage = run(node, ['admin', 'usage', '--project', 'local', '--url', router.baseUrl]);
    expect(usage).toMatchObject({ status: 0, stderr: '' });
    expect(usage.stdout).toContain('local');
    const env = { ...process.env, ROUTER_API_KEY: router.key };
    const args = [command, 'connect', 'codex', '--url', router.baseUrl];
    expect(spawnSync(node, args, { env, encoding: 'utf8' })).toMatchObject({ status: 0 });
    const page = await fetch(`${router.baseUrl}/dashboard`);
    const script = /src="([^"]+\.js)"/.exec(await page.text())?.[1] ?? '';
    const loaded = await fetch(new URL(script, `${router.baseUrl}/dashboard`));
    expect(loaded.status).toBe(200);
  });

  test('the command import reads a configuration of LiteLLM', () => {
    const fixture = join(root, 'test/fixtures/imports/teams.yaml');
    const env = { ...process.env, CHAT_BASE: router.baseUrl, MESSAGES_BASE: router.baseUrl };
    const args = ['import', 'litellm', fixture, '--out', join(home, 'imported')];
    const imported = spawnSync(node, [command, ...args], {
      ...{ encoding: 'utf8', cwd: home, env: { ...env, RESPONSES_BASE: router.baseUrl } },
    });
    expect(imported).toMatchObject({ status: 0, stderr: '' });
    expect(readdirSync(join(home, 'imported')).toSorted()).toEqual([
      ...['catalog.json', 'plans.json', 'secrets.json'],
    ]);
  });

  test('--version and --help say what the package is', () => {
    const version = run(node, ['--version']).stdout.trim();
    expect(tarball.filename).toBe(`model-router-${version}.tgz`);
    expect(run(node, ['--help']).stdout).toMatch(/^Usage: model-router \[options\]/);
    expect(run(node, ['deploy', '--help']).stdout).toMatch(/^Usage: model-router deploy/);
  });
});

/** The console is half of what a synth bundles. */
const LESS_TO_BUILD = checksAll ? [] : ['-c', 'dashboard=off'];

describe('the command deploy', () => {
  const [node = ''] = nodes();
  const deploy = (args: string[], env: NodeJS.ProcessEnv = process.env) => {
    const { status, stdout, stderr } = spawnSync(node, [command, 'deploy', ...args], {
      ...{ cwd: home, env, encoding: 'utf8' },
    });
    return { status, stdout, stderr };
  };

  test('without a checkout it says what is missing, and the command with the same options', () => {
    const ended = deploy(['-c', 'stage=prod', '--catalog', 'my.json']);
    expect(ended).toMatchObject({ status: 2, stdout: '' });
    expect(ended.stderr).toContain('is not a checkout of the router');
    const catalog = join(realpathSync(home), 'my.json');
    expect(ended.stderr).toContain(`npx cdk deploy -c stage=prod -c catalog=${catalog}`);
  });

  test('a checkout of another version, or without CDK, is named', () => {
    const other = join(folder, 'other');
    mkdirSync(join(other, 'bin'), { recursive: true });
    writeFileSync(join(other, 'bin', 'router.ts'), '');
    writeFileSync(join(other, 'package.json'), '{"name":"model-router","version":"0.0.1"}');
    expect(deploy(['--checkout', other]).stderr).toMatch(/has version 0\.0\.1, this is /);
    copyFileSync(join(root, 'package.json'), join(other, 'package.json'));
    expect(deploy(['--checkout', other]).stderr).toMatch(/has no CDK: run npm ci there/);
  });

  test('without AWS credentials it ends before CDK starts', () => {
    const env = {
      ...{ PATH: process.env.PATH, HOME: folder, AWS_EC2_METADATA_DISABLED: 'true' },
    };
    const ended = deploy(['--checkout', root, '-c', 'stage=prod'], env);
    expect(ended).toMatchObject({ status: 2, stdout: '' });
    expect(ended.stderr).toMatch(/^A deployment needs AWS credentials, and there are none\./);
  });

  test('it synthesizes the stack of the options with the CDK of the checkout', () => {
    // Of its own, as synth bundles into dist/ of the checkout.
    const checkout = join(folder, 'checkout');
    for (const path of [
      'bin',
      'lib',
      'lambdas',
      'console',
      'cli',
      'docs',
      'package.json',
      'cdk.json',
    ]) {
      cpSync(join(root, path), join(checkout, path), { recursive: true });
    }
    symlinkSync(join(root, 'node_modules'), join(checkout, 'node_modules'));
    const output = join(folder, 'cdk.out');
    copyFileSync(join(root, 'lambdas/catalog/models.json'), join(home, 'mine.json'));
    const args = ['--checkout', checkout, '--synth', '--catalog', 'mine.json'];
    const options = [...LESS_TO_BUILD, '-c', 'stage=prod', '--output', output];
    // security-rules.test.ts runs CDK's validation, which takes a third of a synth's time.
    const ended = deploy([...args, ...options], {
      ...process.env,
      CDK_VALIDATION: String(checksAll),
    });
    expect({ ...ended, stdout: '' }).toMatchObject({ status: 0 });
    const template = readFileSync(join(output, 'model-router-prod.template.json'), 'utf8');
    expect(template).toContain('Model router, stage prod');
  });
});

test('the files of the package are those of a build, so that no old one is shipped', () => {
  const built = readdirSync(join(root, 'dist'));
  expect(readdirSync(join(home, 'node_modules', 'model-router', 'dist'))).toEqual(built);
  expect(statSync(command).mode & 0o111).not.toBe(0);
});
