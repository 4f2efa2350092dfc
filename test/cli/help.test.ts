import { spawn } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { EXIT_CODES } from '../../cli/cli-error.ts';
import { COMMANDS } from '../../cli/commands.ts';
import { BODIES } from '../../lambdas/admin/input.ts';
import { QUERIES } from '../../lambdas/admin/queries.ts';
import { post, useRouter } from '../support/local.ts';
import { runCli } from '../support/run-cli.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const router = useRouter();
const folder = temporaryFolder('help');

const askFor = (content: string): Promise<Response> =>
  post(router(), '/v1/chat/completions', {
    model: 'aurora/scribe-1',
    messages: [{ role: 'user', content }],
  });

/** The words after the program's name, with its files in a folder of the test. */
const exampleIn = (help: string): string[] => {
  const [, line = ''] = /^Example: npm run -s admin -- (.+)$/m.exec(help) ?? [];
  writeFileSync(join(folder, 'setup.json'), '{}');
  return line
    .split(' ')
    .map((word) => (/^\w+\.(?:json|csv)$/.test(word) ? join(folder, word) : word));
};

test.each(Object.keys(COMMANDS))(
  'the help of admin %s has an example, which is a valid command with --json',
  async (name) => {
    const help = await runCli([...name.split(' '), '--help']);
    expect(help).toMatchObject({ code: 0, err: '' });
    const words = exampleIn(help.out);
    expect(words.slice(0, name.split(' ').length).join(' ')).toBe(name);
    const { code, out, err } = await runCli([
      ...words,
      ...['--json', '--yes', '--url', router().baseUrl],
    ]);
    // What it names need not exist, but the command line is right.
    expect([code, err]).not.toEqual([2, err]);
    if (code === 0) expect(JSON.parse(out)).toBeTypeOf('object');
    else expect(err).not.toBe('');
  },
);

test('docs/admin.md has the exit codes of the code', () => {
  const page = readFileSync('docs/admin.md', 'utf8');
  for (const [code, meaning] of Object.entries(EXIT_CODES)) {
    expect(page).toContain(`| ${code} | ${meaning} |`);
  }
});

test('admin requests list has the requests of a model, target and fault, and admin incidents what they fail at', async () => {
  const { baseUrl } = router();
  const sent = await askFor('fault status=503');
  expect(sent.status).toBe(503);
  await sent.text();
  const admin = async (...words: string[]) => (await runCli([...words, '--url', baseUrl])).out;
  const list = (...filters: string[]) => admin('requests', 'list', ...filters);
  const id = sent.headers.get('x-request-id') ?? 'none';
  await expect.poll(() => list('--model', 'aurora/scribe-1', '--fault', 'provider')).toContain(id);
  expect(await list('--model', 'borealis/swift-2')).not.toContain(id);
  expect(await list('--fault', 'caller')).not.toContain(id);
  expect(await list('--target', 'aurora/vista-3')).not.toContain(id);
  expect(await admin('incidents')).toMatch(
    /failing +The provider failed\. +aurora\/scribe-1 .* provider +20/,
  );
});

test('admin requests list --follow prints each further request once, and none that was there', async () => {
  const { baseUrl } = router();
  const ask = async () => {
    const response = await askFor('say hello');
    await response.text();
    return response.headers.get('x-request-id');
  };
  const earlier = await ask();
  const list = ['requests', 'list', '--json', '--url', baseUrl];
  await expect.poll(async () => (await runCli(list)).out).toContain(earlier);
  const args = ['--import', './local/require-node.mjs', 'cli/main.ts', ...list, '--follow'];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  onTestFinished(() => void child.kill());
  let said = '';
  child.stdout.on('data', (part) => {
    said += part;
  });
  const sent: (string | null)[] = [];
  // The first look may be later than the first of them.
  for (let count = 0; count < 60 && said === ''; count += 1) {
    sent.push(await ask());
    await new Promise((resolve) => setTimeout(resolve, 500));
  }
  sent.push(await ask());
  await expect.poll(() => said).toContain(sent.at(-1) ?? 'none');
  const ids = said
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line).id);
  expect(ids).not.toContain(earlier);
  expect(new Set(ids).size).toBe(ids.length);
});

/** The values of an enumeration within a schema of the API. */
const valuesOf = (schema: unknown): string[] => {
  const inner = schema as { options?: string[]; unwrap?: () => unknown };
  if (inner.options) return inner.options;
  return inner.unwrap ? valuesOf(inner.unwrap()) : [];
};
const shapeOf = (schema: unknown) => (schema as { shape: Record<string, unknown> }).shape;

test.each([
  ['plans create', 'period', shapeOf(BODIES['plans.create']).period],
  ['plans create', 'replay', shapeOf(BODIES['plans.create']).replay],
  ['plans create', 'state', shapeOf(BODIES['plans.create']).state],
  ['plans create', 'loops', shapeOf(BODIES['plans.create']).loops],
  ['plans create', 'priority', shapeOf(BODIES['plans.create']).priority],
  ['keys rotate', 'overlap', shapeOf(BODIES['keys.rotate']).overlap],
  ['budgets set', 'period', shapeOf(BODIES['budgets.set']).period],
  ['export', 'meter', shapeOf(QUERIES.export).meter],
  ['requests list', 'fault', shapeOf(QUERIES['requests.list']).fault],
] as const)(
  'the help of %s has the values of --%s that the API accepts',
  async (name, option, schema) => {
    const { out } = await runCli([...name.split(' '), '--help']);
    const shown = new RegExp(`--${option} ([^\\s\\]]+)`).exec(out)?.[1]?.split('|');
    expect(shown?.toSorted()).toEqual(valuesOf(schema).toSorted());
    expect(shown?.length).toBeGreaterThan(1);
  },
);
