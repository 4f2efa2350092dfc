import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, describe, expect, test } from 'vitest';
import { CLIENTS } from '../../cli/clients.ts';
import { useRouter } from '../support/local.ts';
import { runCli } from '../support/run-cli.ts';

const runShell = promisify(execFile);
const router = useRouter();
const folder = mkdtempSync(join(tmpdir(), 'connect-'));
afterAll(() => rmSync(folder, { recursive: true }));

const connect = (args: string[], { key = router().key, home = folder } = {}) =>
  runCli(
    ['--url', `${router().baseUrl}/v1/`, ...args],
    { ROUTER_API_KEY: key, HOME: home },
    'cli/connect.ts',
  );

describe('connect', () => {
  test.concurrent.each(Object.keys(CLIENTS))(
    'connect prints a configuration of %s with the address and the model, and without the key',
    async (name) => {
      const { code, out } = await connect([name, '--model', 'borealis/swift-2']);
      expect(code).toBe(0);
      expect(out).toContain(router().baseUrl);
      expect(out).not.toContain('/v1/v1');
      expect(out).toContain('borealis/swift-2');
      expect(out).toContain('ROUTER_API_KEY');
      expect(out).not.toContain(router().key);
    },
  );

  const files = mkdtempSync(join(tmpdir(), 'connect-'));
  afterAll(() => rmSync(files, { recursive: true }));

  test.concurrent.each([
    ['codex', '.codex/config.toml'],
    ['opencode', 'opencode.json'],
    ['aider', '.aider.model.metadata.json'],
    ['continue', '.continue/models/router.yaml'],
    ['pi', '.pi/agent/models.json'],
  ])(
    'connect --write writes the file of %s with the model, and without the key',
    async (name, path) => {
      const { code, out } = await connect([name, '--write', '--folder', files], { home: files });
      expect(code).toBe(0);
      expect(out).toContain(join(files, path));
      const text = readFileSync(join(files, path), 'utf8');
      expect(text).toContain('aurora/scribe-1');
      expect(text).not.toContain(router().key);
    },
  );

  test.concurrent.each(['claude', 'curl'])(
    'connect --write prints the configuration of %s and states that it has no file',
    async (name) => {
      const { code, out } = await connect([name, '--write', '--folder', files]);
      expect(code).toBe(0);
      expect(out).toContain('# Wrote nothing');
      expect(out).toContain('aurora/scribe-1');
    },
  );

  test('the printed curl command gets a response of the first model', async () => {
    const { out } = await connect(['curl']);
    const { stdout } = await runShell('sh', ['-c', out], {
      env: { PATH: process.env.PATH, ROUTER_API_KEY: router().key },
    });
    expect(JSON.parse(stdout)).toMatchObject({
      model: 'aurora/scribe-1',
      choices: [{ message: { content: 'hi' } }],
    });
  });

  test('connect --write writes the file of opencode with the limits of the model, and never over another', async () => {
    const first = await connect(['opencode', '--write', '--folder', folder]);
    expect(first.code).toBe(0);
    const { provider } = JSON.parse(readFileSync(join(folder, 'opencode.json'), 'utf8'));
    expect(provider.router.models['aurora/scribe-1'].limit).toEqual({
      context: 1_048_576,
      output: 131_072,
    });
    const second = await connect(['opencode', '--write', '--folder', folder]);
    expect(second.code).toBe(1);
    expect(second.err).toContain('already exists');
  });

  test('connect --write writes the file of Codex below the home folder', async () => {
    expect((await connect(['codex', '--write'])).code).toBe(0);
    const text = readFileSync(join(folder, '.codex/config.toml'), 'utf8');
    expect(text).toContain(`base_url = "${router().baseUrl}/v1"`);
    expect(text).toContain('wire_api = "responses"');
    expect(text).toContain('model_context_window = 1048576');
  });

  test.each([
    [[], 2, 'Missing argument: CLIENT.'],
    [['nothing'], 2, "Unknown client 'nothing'"],
    [['curl', 'codex'], 2, 'Unexpected argument: codex'],
    [['curl', '--no-such'], 2, '--no-such'],
    [['curl', '--model', 'no/such'], 1, 'It may use: aurora/scribe-1'],
  ])('connect with %j exits with %d', async (args, code, message) => {
    const ended = await connect(args);
    expect([ended.code, ended.out]).toEqual([code, '']);
    expect(ended.err).toContain(message);
  });

  test('a wrong key and an address without a router exit with 1', async () => {
    expect(await connect(['curl'], { key: 'mrk_wrong' })).toMatchObject({
      code: 1,
      err: expect.stringContaining('is invalid'),
    });
    expect(await connect(['curl', '--url', 'http://127.0.0.1:9'])).toMatchObject({
      code: 1,
      err: expect.stringContaining('No router responds'),
    });
  });
});
