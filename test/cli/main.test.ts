import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import OpenAI from 'openai';
import { beforeAll, describe, expect, test } from 'vitest';
import * as z from 'zod';
import { createAdminClient } from '../../cli/admin-client.ts';
import { CliError } from '../../cli/cli-error.ts';
import { run } from '../../cli/run.ts';
import { MODEL_ON, useRouter } from '../support/local.ts';
import { runCli, runScript } from '../support/run-cli.ts';
import { checksAll } from '../support/seeds.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const router = useRouter();

const admin = (...args: string[]) => runCli([...args, '--url', router().baseUrl]);

const Answer = z.record(z.string(), z.unknown());
const Rows = z.object({ data: z.array(Answer) });
const NewKey = z.object({ key: z.string(), id: z.string() });

/** The JSON of a command that must succeed. */
const json = async <T extends z.ZodType>(schema: T, ...args: string[]): Promise<z.output<T>> => {
  const { code, out, err } = await admin(...args, '--json');
  expect({ code, err: code === 0 ? '' : err }).toEqual({ code: 0, err: '' });
  return schema.parse(JSON.parse(out));
};

const generate = (apiKey: string) =>
  new OpenAI({ baseURL: `${router().baseUrl}/v1`, apiKey, maxRetries: 0 }).chat.completions.create({
    model: MODEL_ON.chat,
    messages: [{ role: 'user', content: 'say Hello' }],
  });

/** Returns the status of a call that must be rejected. */
const rejectedStatus = async (apiKey: string): Promise<number | undefined> => {
  const error: unknown = await generate(apiKey).then(
    () => undefined,
    (reason: unknown) => reason,
  );
  return error instanceof OpenAI.APIError ? error.status : undefined;
};

test('the CLI creates a project, plan and key that work until they are rotated and revoked', async () => {
  expect((await admin('projects', 'create', 'team', '--name', 'The Team')).code).toBe(0);
  const limits = ['--rpm', '50', '--quota', '10', '--period', 'day'];
  expect((await admin('plans', 'create', 'small', ...limits)).code).toBe(0);
  const of = ['--project', 'team'];

  const first = await json(NewKey, 'keys', 'create', ...of, '--plan', 'small', '--name', 'ci');
  expect((await generate(first.key)).choices[0]?.message.content).toBe('Hello');

  const second = await json(NewKey, 'keys', 'rotate', first.id, ...of, '--overlap', '1h');
  await generate(first.key);
  await generate(second.key);
  const third = await json(
    NewKey,
    'keys',
    'rotate',
    second.id,
    ...of,
    '--overlap',
    'none',
    '--yes',
  );
  expect(await rejectedStatus(second.key)).toBe(401);
  await generate(third.key);

  const { data: usage } = await json(Rows, 'usage', ...of);
  const meters = usage.map(({ used, remaining, quota }) => ({ used, remaining, quota }));
  expect(meters).toEqual(Array(3).fill({ used: 4, remaining: 6, quota: 10 }));
  const last = usage.find(({ id }) => id === third.id);
  expect(last?.last_used_at).toMatch(/^\d{4}-\d\d-\d\dT/);

  await json(Answer, 'plans', 'set', 'small', '--quota', '20');
  const { data: afterChange } = await json(Rows, 'usage', ...of);
  expect(afterChange[0]).toMatchObject({ used: 4, remaining: 16, rpm: 50 });

  expect((await admin('keys', 'revoke', third.id, ...of, '--yes')).code).toBe(0);
  expect(await rejectedStatus(third.key)).toBe(401);
  const { data: keys } = await json(Rows, 'keys', ...of);
  const statusOf = new Map(keys.map(({ id, status }) => [id, status]));
  expect([first, second, third].map(({ id }) => statusOf.get(id))).toEqual([
    'active',
    'expired',
    'revoked',
  ]);
});

describe('a key', () => {
  const of = ['--project', 'local'];

  test('a key is printed once, when it is created', async () => {
    const made = await admin('keys', 'create', ...of, '--plan', 'local', '--name', 'shown');
    const key = /mrk_live_\w+/.exec(made.out)?.[0] ?? 'none';
    expect(key).toHaveLength('mrk_live_'.length + 38);
    expect(made.err).toMatch(/shown only once/);
    const listed = await admin('keys', 'list', ...of);
    expect(listed.out).toContain('shown');
    for (const { out } of [listed, await admin('keys', ...of, '--json')]) {
      expect(out).not.toContain(key);
    }
  });

  test.each([
    ['revoke', []],
    ['rotate', ['--overlap', 'none']],
  ])('a key survives a %s without a terminal and without --yes', async (verb, options) => {
    const { id, key } = await json(NewKey, 'keys', 'create', ...of, '--plan', 'local');
    const { code, out, err } = await admin('keys', verb, id, ...of, ...options);
    expect({ code, out }).toEqual({ code: 2, out: '' });
    expect(err).toMatch(/^Nothing was changed: .* With --yes: .*immediately.*\.\n$/);
    await generate(key);
  });

  test('a key created with --expires 12h expires after 12 hours', async () => {
    const { expires_at } = await json(
      Answer,
      'keys',
      'create',
      ...of,
      '--plan',
      'local',
      '--expires',
      '12h',
    );
    const hours = (Date.parse(z.string().parse(expires_at)) - Date.now()) / 3_600_000;
    expect(Math.round(hours)).toBe(12);
  });
});

describe('apply', () => {
  const folder = temporaryFolder('seeds');
  const file = join(folder, 'seed.json');
  const seed = {
    projects: [{ id: 'seeded', name: 'Seeded' }],
    plans: [{ id: 'basic', rpm: 10, quota: 100, period: 'month', models: [MODEL_ON.chat] }],
  };
  const apply = (...options: string[]) =>
    json(
      z.object({ projects: z.array(Answer), plans: z.array(Answer) }),
      'apply',
      file,
      ...options,
    );
  beforeAll(() => writeFileSync(file, JSON.stringify(seed)));

  test('apply creates missing projects and plans, keeps plans that differ, and overwrites them with --force', async () => {
    expect(await apply()).toEqual({
      projects: [{ id: 'seeded', outcome: 'created' }],
      plans: [{ id: 'basic', outcome: 'created' }],
    });
    const limit = (concurrency: string) =>
      json(Answer, 'plans', 'set', 'basic', '--concurrency', concurrency);
    expect(await limit('7')).toMatchObject({ id: 'basic', concurrency: 7 });
    expect(await limit('none')).not.toHaveProperty('concurrency');
    await json(Answer, 'plans', 'set', 'basic', '--rpm', '11', '--all-models');
    expect(await apply()).toEqual({
      projects: [{ id: 'seeded', outcome: 'unchanged' }],
      plans: [{ id: 'basic', outcome: 'kept' }],
    });
    expect((await admin('apply', file)).err).toContain('Use --force to overwrite them.');
    const { data } = await json(Rows, 'plans');
    expect(data).toContainEqual(expect.objectContaining({ id: 'basic', rpm: 11 }));
    expect(await apply('--force')).toMatchObject({ plans: [{ outcome: 'changed' }] });
    expect(await apply()).toMatchObject({ plans: [{ outcome: 'unchanged' }] });
  });

  test('apply finds a key by its name among 1,200 others whose names contain it', async () => {
    await apply();
    const names = checksAll ? [...'abcdefghijklmnopqrst'] : [...'abcd'];
    const send = createAdminClient({ baseUrl: router().baseUrl });
    const body = { plan: 'basic', name: names.join('') };
    const create = { method: 'POST', path: '/projects/seeded/keys', body } as const;
    for (let batch = 0; batch < 60; batch += 1) {
      await Promise.all(Array.from({ length: 20 }, () => send(create)));
    }
    const keyed = join(folder, 'keyed.json');
    const keys = names.map((name) => ({ project: 'seeded', plan: 'basic', name }));
    writeFileSync(keyed, JSON.stringify({ ...seed, keys }));
    const applyKeys = async () => {
      const { keys: applied } = await json(z.object({ keys: z.array(Answer) }), 'apply', keyed);
      return applied.map(({ outcome }) => outcome);
    };
    expect(await applyKeys()).toEqual(names.map(() => 'created'));
    expect(await applyKeys()).toEqual(names.map(() => 'unchanged'));
  });

  test('apply reports every invalid field of a file and writes nothing', async () => {
    const faulty = join(folder, 'faulty.json');
    const plans = [
      { id: 'fine', rpm: 1, quota: 1, period: 'day' },
      { id: 'a b', rpm: -1, quota: 1 },
    ];
    writeFileSync(faulty, JSON.stringify({ plans }));
    const { code, err } = await admin('apply', faulty);
    expect(code).toBe(1);
    for (const path of ['plans.1.id', 'plans.1.rpm', 'plans.1.period']) expect(err).toContain(path);
    expect((await admin('plans')).out).not.toContain('fine');
  });
});

test('a list is printed as a table with right-aligned numbers', async () => {
  await json(
    Answer,
    'plans',
    'create',
    'wide',
    '--rpm',
    '5',
    '--quota',
    '100000',
    '--period',
    'hour',
    '--replay',
    'retries',
  );
  const { out } = await admin('plans');
  const lines = out.split('\n');
  expect(lines[0]).toMatch(/^ID +RPM +QUOTA +PERIOD +CONCURRENCY +MODELS +REPLAY +STATE +LOOPS$/);
  expect(lines.find((line) => line.startsWith('wide'))).toMatch(
    /^wide +5 +100000 +hour .* retries/,
  );
});

/** Returns the error of a failing command, run in this process: a child process takes 0.5 s. */
const failureOf = async (args: string[]): Promise<CliError> => {
  const error: unknown = await run(args, Date.now(), process).then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (error instanceof CliError) return error;
  throw error ?? new Error('The command succeeded.');
};

test('a stored name cannot forge rows or colours in a table', async () => {
  const rows = [{ id: 'team', name: 'x\u001b[31m\nforged  row\u202e', created_at: 'now' }];
  const server = createServer((_, response) => response.end(JSON.stringify({ data: rows })));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const { code, out } = await runCli(['projects', 'list', '--url', `http://127.0.0.1:${port}`]);
  server.close();
  expect(code).toBe(0);
  expect(out.trimEnd().split('\n')).toHaveLength(2);
  expect(out).toContain('x\uFFFD[31m\uFFFDforged  row\uFFFD');
  for (const forged of ['\u001b', '\u202e']) expect(out).not.toContain(forged);
});

describe('errors', () => {
  test.each([
    [1, ['projects', 'create', 'local'], /'local' already exists/],
    [1, ['projects', 'create', '../up'], /id: must be 1 to 64 letters/],
    [1, ['keys', 'list', '--project', 'nobody'], /Project 'nobody' not found/],
    [1, ['keys', 'create', '--project', 'local', '--plan', 'nothing'], /unknown plan 'nothing'/],
    [
      1,
      ['keys', 'create', '--project', 'local', '--plan', 'local', '--expires', '2020-01-01'],
      /must be in the future/,
    ],
    [1, ['keys', 'revoke', 'key_x', '--project', 'local', '--yes'], /Key 'key_x' not found/],
    [1, ['keys', 'rotate', 'key_x', '--project', 'local'], /Key 'key_x' not found/],
    [1, ['plans', 'set', 'nothing', '--rpm', '1'], /Plan 'nothing' not found/],
    [1, ['plans', 'set', 'local', '--period', 'week'], /period: .*hour.*day.*month/],
    [
      1,
      ['plans', 'set', 'local', '--quota', '10000000000000000'],
      /^quota: must be at most 1000000000000\. \(/,
    ],
    [1, ['plans', 'set', 'local', '--model', 'no/such'], /unknown model no\/such/],
    [2, ['plans', 'set', 'local'], /No field to set/],
    [
      2,
      ['plans', 'create', 'p', '--rpm', 'many', '--quota', '1', '--period', 'day'],
      /--rpm must be a whole number \(got 'many'\)/,
    ],
    // `Date.parse` reads the first as the year 2045, the second as March 2, the third as June 2001.
    ...['45', '2027-02-30', '6 months'].map((time): [number, string[], RegExp] => [
      2,
      ['keys', 'create', '--project', 'local', '--plan', 'local', '--expires', time],
      /^--expires must be 12h, 90d, a day such as 2027-01-31, or an RFC 3339 time \(got '/,
    ]),
    [2, ['keys', 'create', '--project', 'local'], /Missing option: --plan/],
    [
      2,
      ['keys', 'list', '--project', 'local', '--rpm', '1'],
      /Unknown option for this command: --rpm/,
    ],
    [2, ['keys', 'revoke', '--project', 'local'], /Missing argument: KEY-ID/],
    [2, ['projects', 'destroy'], /Unknown command 'projects destroy'/],
    [2, ['projects', '--frob'], /^Unknown option '--frob'\.\n.*--help/],
    [2, ['usage', '--by'], /^Missing value: --by\n/],
    [2, ['usage', '--csv=yes'], /^Option --csv has no value\.\n/],
    [2, ['apply', '/nowhere.json'], /Cannot read \/nowhere\.json/],
  ])('exit code %i with a message: %j', async (exitCode, args, message) => {
    const error = await failureOf([...args, '--url', router().baseUrl]);
    expect(error.exitCode).toBe(exitCode);
    expect(error.message).toMatch(message);
  });

  test('an unknown command is reported on stderr without a stack trace', async () => {
    const { code, out, err } = await admin('projects', 'destroy');
    expect({ code, out }).toEqual({ code: 2, out: '' });
    expect(err).toMatch(/^Unknown command 'projects destroy'\.\n.*--help.*\n$/);
  });

  test('a connection error names the URL', async () => {
    const { code, err } = await runCli(['projects', '--url', 'http://127.0.0.1:9']);
    expect(code).toBe(1);
    expect(err).toMatch(/^No response from http:\/\/127\.0\.0\.1:9/);
  });

  test.each(['localhost:8787', '127.0.0.1:8787', 'ftp://router.test', 'http://'])(
    'the address %s is an invalid command, and nothing is sent or signed',
    async (url) => {
      const { code, out, err } = await runCli(['projects', '--url', url]);
      expect({ code, out }).toEqual({ code: 2, out: '' });
      expect(err).toContain(`--url must begin with http:// or https:// (got '${url}').`);
    },
  );

  test('the hint of the client is appended to a connection error', async () => {
    const client = createAdminClient({ baseUrl: 'http://127.0.0.1:9', hint: '\nLook elsewhere.' });
    await expect(client({ method: 'GET', path: '/projects' })).rejects.toThrow(
      /^No response from .*\.\nLook elsewhere\.$/,
    );
  });

  test('a request to a remote URL without AWS credentials fails before it is sent', async () => {
    const { code, err } = await runScript(
      'cli/main.ts',
      ['projects', '--url', 'https://router.test'],
      {
        AWS_REGION: 'eu-central-1',
        AWS_EC2_METADATA_DISABLED: 'true',
        AWS_ACCESS_KEY_ID: '',
        AWS_SECRET_ACCESS_KEY: '',
        AWS_CONFIG_FILE: '/nowhere',
        AWS_SHARED_CREDENTIALS_FILE: '/nowhere',
      },
    );
    expect(code).toBe(1);
    expect(err).toMatch(/^Cannot sign the request: .*credentials/);
  });
});
