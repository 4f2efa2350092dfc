import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import { expect, onTestFinished, test } from 'vitest';
import { modelOn } from '../support/models.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { start, startBuilt, untilReady } from './local-process.ts';

/** A response that lasts minutes at 0.1 s a word. */
const ENDLESS = [{ role: 'user', content: `say ${'word '.repeat(5_000)}` }];

const ending = async (child: ChildProcess) => {
  const [code, signal]: unknown[] = await once(child, 'exit');
  return { code, signal };
};

/** Output and exit code of a start that fails. */
const failedStart = async (child: ReturnType<typeof start>) => {
  const [stderr, stdout, end] = await Promise.all([
    text(child.stderr),
    text(child.stdout),
    ending(child),
  ]);
  return { stderr, stdout, ...end };
};

type Ready = { baseUrl: string; key: string };

/** The response of a stream that has begun. */
const openStream = ({ baseUrl, key }: Ready, messages: object[]) =>
  fetch(`${baseUrl}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'aurora/scribe-1', stream: true, messages }),
  });

const data = temporaryFolder('main-data');

test('--json prints one line, and SIGINT ends the router with exit code 0 while a stream is open', async () => {
  const child = start(['--json', '--delay', '100']);
  const router = await untilReady(child);
  const stream = (await openStream(router, ENDLESS)).text();
  const ended = ending(child);
  child.kill('SIGINT');
  const closed = expect(stream).rejects.toThrow();
  expect(await ended).toEqual({ code: 0, signal: null });
  await closed;
  expect(router.lines).toHaveLength(1);
});

test('SIGTERM lets a stream end, accepts nothing new, and ends the router with exit code 0', async () => {
  const child = startBuilt(['--json', '--delay', '100']);
  const router = await untilReady(child);
  const words = Array.from({ length: 12 }, (_, at) => `word${at}`).join(' ');
  const response = await openStream(router, [{ role: 'user', content: `say ${words}` }]);
  const ended = ending(child);
  child.kill('SIGTERM');
  const text = await response.text();
  expect(text).toContain('word11');
  expect(text).toContain('[DONE]');
  await expect(fetch(`${router.baseUrl}/v1/models`)).rejects.toThrow();
  expect(await ended).toEqual({ code: 0, signal: null });
});

test('SIGTERM lets a response in the background end, and a router on the same folder has it', async () => {
  const folder = join(data, 'background');
  const child = startBuilt(['--json', '--delay', '100', '--data', folder]);
  const router = await untilReady(child);
  const words = Array.from({ length: 12 }, (_, at) => `word${at}`).join(' ');
  const headers = { authorization: `Bearer ${router.key}`, 'content-type': 'application/json' };
  const queued = await fetch(`${router.baseUrl}/v1/responses`, {
    ...{ method: 'POST', headers },
    body: JSON.stringify({ model: 'aurora/scribe-1', background: true, input: `say ${words}` }),
  });
  const { id, status } = (await queued.json()) as { id: string; status: string };
  expect(status).toBe('queued');
  const ended = ending(child);
  child.kill('SIGTERM');
  expect(await ended).toEqual({ code: 0, signal: null });
  const next = await untilReady(startBuilt(['--json', '--data', folder]));
  const read = await fetch(`${next.baseUrl}/v1/responses/${id}`, { headers });
  const text = await read.text();
  expect(JSON.parse(text)).toMatchObject({ status: 'completed' });
  expect(text).toContain('word11');
});

test('the router prints commands to paste without --json', async () => {
  const child = start([]);
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]();
  const printed: string[] = [];
  for await (const line of lines) {
    printed.push(line);
    if (line.endsWith('claude')) break;
  }
  const banner = printed.join('\n');
  expect(banner).toMatch(/base URL {2}http:\/\/127\.0\.0\.1:\d+\n/);
  for (const part of ['/v1/chat/completions', '/v1/messages', 'new OpenAI', 'new Anthropic']) {
    expect(banner).toContain(part);
  }
});

test('a port in use ends the start with a one-line error and exit code 1', async () => {
  const other = createServer().listen(0, '127.0.0.1');
  onTestFinished(() => {
    other.close();
  });
  await once(other, 'listening');
  const address = other.address();
  const port = typeof address === 'object' && address ? address.port : 0;
  expect(await failedStart(startBuilt(['--json'], { PORT: `${port}` }))).toEqual({
    stderr: expect.stringMatching(`^Port ${port} is already in use\\..*\\n$`),
    stdout: '',
    code: 1,
    signal: null,
  });
});

test.each([
  ['192.0.2.1', 'listen EADDRNOTAVAIL: '],
  ['router.invalid', 'getaddrinfo E'],
])(
  'the address %s, which is not this machine, ends the start with a one-line error',
  async (host, reason) => {
    const child = startBuilt(['--json', '--host', host], {
      MODEL_ROUTER_ADMIN_SECRET: 'x'.repeat(16),
    });
    expect(await failedStart(child)).toEqual({
      stderr: expect.stringMatching(`^${reason}.*${host}\\.\\n$`),
      stdout: '',
      code: 1,
      signal: null,
    });
  },
);

const BEDROCK = {
  ...modelOn([
    {
      ...{ upstream: 'bedrock', protocol: 'messages', model: 'anthropic.claude-haiku-4-5' },
      ...{ baseUrl: 'https://bedrock-mantle.eu-central-1.api.aws/anthropic', auth: 'iam' },
    },
  ]),
};

const catalogFile = async (): Promise<string> => {
  const folder = await mkdtemp(join(tmpdir(), 'catalog-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  await writeFile(join(folder, 'catalog.json'), JSON.stringify([BEDROCK]));
  return join(folder, 'catalog.json');
};

/** No profile of this machine and no metadata service is a source of credentials. */
const NO_CREDENTIALS = {
  ...{ AWS_ACCESS_KEY_ID: '', AWS_SECRET_ACCESS_KEY: '', AWS_PROFILE: '' },
  ...{ AWS_CONFIG_FILE: '/dev/null', AWS_SHARED_CREDENTIALS_FILE: '/dev/null' },
  AWS_EC2_METADATA_DISABLED: 'true',
};

test('a catalog of Bedrock models called by the role starts without --secrets', async () => {
  const keys = { AWS_ACCESS_KEY_ID: 'AKIDEXAMPLE', AWS_SECRET_ACCESS_KEY: 'secret' };
  const child = startBuilt(['--json', '--catalog', await catalogFile()], {
    ...NO_CREDENTIALS,
    ...keys,
  });
  const { baseUrl, key } = await untilReady(child);
  const response = await fetch(`${baseUrl}/v1/models`, { headers: { 'x-api-key': key } });
  expect(await response.text()).toContain('vendor/model');
});

test('a start without AWS credentials for the role ends with what to export, and exit code 1', async () => {
  const child = startBuilt(['--catalog', await catalogFile()], NO_CREDENTIALS);
  const { stderr, code } = await failedStart(child);
  expect(code).toBe(1);
  expect(stderr).toMatch(/aws sso login.*export AWS_ACCESS_KEY_ID.*AWS_SESSION_TOKEN\.\n$/);
});

test('an invalid catalog ends the start with its path and exit code 1, without a stack', async () => {
  const files = ['--catalog', 'package.json', '--secrets', 'package.json'];
  const { stderr, code } = await failedStart(start(files));
  expect(code).toBe(1);
  expect(stderr).toMatch(/^package\.json: The catalog is not valid\./);
  expect(stderr).not.toContain('    at ');
});
