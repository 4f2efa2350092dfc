import { execFile } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, describe, expect, onTestFinished, test } from 'vitest';
import { CliError } from '../../cli/cli-error.ts';
import { connect as connectClient } from '../../cli/connect-client.ts';
import { parseModels } from '../../lambdas/catalog/parse-models.ts';
import { CLIENTS } from '../../lambdas/clients.ts';
import { listen } from '../../local/loopback.ts';
import { useRouter } from '../support/local.ts';
import { modelOn, targetAt } from '../support/models.ts';
import { type Ended, runScript } from '../support/run-cli.ts';

const runShell = promisify(execFile);
const router = useRouter();
const folder = mkdtempSync(join(tmpdir(), 'connect-'));
afterAll(() => rmSync(folder, { recursive: true }));

const withUrl = (args: string[]) => ['--url', `${router().baseUrl}/v1/`, ...args];
const connect = async (
  args: string[],
  { key = router().key, home = folder } = {},
): Promise<Ended> => {
  try {
    const text = await connectClient(withUrl(args), { env: { ROUTER_API_KEY: key }, home });
    return { code: 0, out: `${text}\n`, err: '' };
  } catch (error) {
    if (!(error instanceof CliError)) throw error;
    return { code: error.exitCode, out: '', err: `${error.message}\n` };
  }
};
/** The same as a process, as `npm run connect` starts it. */
const connectProcess = (args: string[], key = router().key) =>
  runScript('cli/connect.ts', withUrl(args), { ROUTER_API_KEY: key, HOME: folder });

describe('connect', () => {
  test.each(Object.keys(CLIENTS))(
    'connect prints a configuration of %s with the address and the model, and without the key',
    async (name) => {
      const { code, out } = await connect([name, '--model', 'borealis/swift-2']);
      expect(code).toBe(0);
      expect(out).toContain(router().baseUrl);
      expect(out).not.toContain('/v1/v1');
      expect(out).toContain('borealis/swift-2');
      expect(out).toContain('ROUTER_API_KEY');
      expect(out).not.toContain(router().key);
      const asJson = await connect([name, '--model', 'borealis/swift-2', '--json']);
      const configuration = JSON.parse(asJson.out);
      expect(JSON.stringify(configuration)).toContain('borealis/swift-2');
      for (const part of Object.values(configuration.file ?? {})) expect(out).toContain(part);
    },
  );

  const files = mkdtempSync(join(tmpdir(), 'connect-'));
  afterAll(() => rmSync(files, { recursive: true }));

  test.each([
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

  test.each(['claude', 'curl'])(
    'connect --write prints the configuration of %s and states that it has no file',
    async (name) => {
      const { code, out } = await connect([name, '--write', '--folder', files]);
      expect(code).toBe(0);
      expect(out).toContain('# Wrote nothing');
      expect(out).toContain('aurora/scribe-1');
    },
  );

  test('the example of the help is a valid command', async () => {
    const { out: help } = await connectProcess(['--help']);
    const [, words = ''] = /^Example: .*? -- (.+)$/m.exec(help) ?? [];
    const { code, out } = await connectProcess(words.split(' '));
    expect([code, out]).toEqual([0, expect.stringContaining('ANTHROPIC_BASE_URL')]);
  });

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
    expect((await connectProcess(['codex', '--write'])).code).toBe(0);
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
    [['curl', '--url', '127.0.0.1:8787'], 2, '--url must begin with http:// or https://'],
    [['curl', '--model', 'no/such'], 1, 'It may use: aurora/scribe-1'],
  ])('connect with %j exits with %d', async (args, code, message) => {
    const ended = await connect(args);
    expect([ended.code, ended.out]).toEqual([code, '']);
    expect(ended.err).toContain(message);
  });

  test('a wrong key and an address without a router exit with 1', async () => {
    expect(await connectProcess(['curl'], 'mrk_wrong')).toMatchObject({
      code: 1,
      err: expect.stringContaining('is invalid'),
    });
    expect(await connect(['curl', '--url', 'http://127.0.0.1:9'])).toMatchObject({
      code: 1,
      err: expect.stringContaining(
        'No router responds at http://127.0.0.1:9. Is `npm start` running?',
      ),
    });
  });
});

const MARK = 'PWNED';
const RUN = `touch\${IFS}${MARK}`;
/** A model that a server lists, whose id leaves a text of a shell, of code and of a file. */
const HOSTILE = `v/'";${RUN};$(${RUN})\`${RUN}\`|${RUN}&"+import("${MARK}")+'+import('${MARK}')+'#\\";${RUN}`;

/** A server that lists one model. */
const listing = async (id: string) => {
  const { url, close } = await listen(
    createServer((_, response) =>
      response.end(JSON.stringify({ data: [{ id, context_length: 9, max_output_tokens: 8 }] })),
    ),
  );
  onTestFinished(close);
  return url;
};

/** The commands of a printed configuration, with the lines that they continue on. */
const commandsIn = (printed: string): string =>
  [...printed.matchAll(/^(?:export|aider|pi|cline auth|curl) (?:.*\\\n)*.*$/gm)].join('\n');

/** Runs lines in a shell in which the clients write down what they are called with. */
const runPasted = async (lines: string) => {
  const place = mkdtempSync(join(folder, 'shell-'));
  const clients = ['aider', 'cline', 'pi', 'curl'].map(
    (name) => `${name}() { printf '%s\\n' "$@"; }`,
  );
  const { stdout } = await runShell('sh', ['-c', [...clients, lines, 'env'].join('\n')], {
    cwd: place,
    env: { PATH: process.env.PATH, ROUTER_API_KEY: 'the-key' },
  });
  return { stdout, files: readdirSync(place) };
};

/** The text as JSON, code, TOML, YAML and a shell quote it. */
const quotations = (text: string): string[] => [
  JSON.stringify(text),
  `'${text.replaceAll("'", "'\\''")}'`,
];

describe('a model whose id leaves quotation marks', () => {
  test.each(Object.keys(CLIENTS))(
    'the printed configuration of %s holds the id as a text, and its commands run nothing of it',
    async (name) => {
      const { code, out } = await connect([name, '--url', await listing(HOSTILE)]);
      expect(code).toBe(0);
      const { stdout, files } = await runPasted(commandsIn(out));
      expect(files).toEqual([]);
      if (commandsIn(out) !== '') expect(stdout).toContain(name === 'curl' ? MARK : HOSTILE);
      const body = { model: HOSTILE, messages: [{ role: 'user', content: 'say hi' }] };
      const texts = ['', 'openai/', 'router/'].map((prefix) => prefix + HOSTILE);
      const rest = [...texts, JSON.stringify(body)]
        .flatMap(quotations)
        .reduce((left, text) => left.replaceAll(text, ''), out);
      // Settings of Cline that are typed in.
      expect(rest.replace(/^Model ID: .*$/m, '')).not.toContain(MARK);
    },
  );

  test.each(['v/a\nrm -rf x', 'v/a\u001b[2K', 'v/a\u202eb', 'v/a b'])(
    'connect rejects the list of a server with the id %j',
    async (id) => {
      const { code, out, err } = await connect(['claude', '--url', await listing(id)]);
      expect([code, out]).toEqual([1, '']);
      expect(err).toContain("is not a router's");
    },
  );

  test.each(["v/a'b", 'v/a"b', 'v/a`id`', 'v/$(id)', 'v/a\\b', 'v/a\u0007', 'v/a\u200bb', 'v /a'])(
    'a catalog with the id or alias %j is not valid',
    (id) => {
      const model = modelOn([targetAt('https://provider.example')]);
      const form = 'without white space, quotes, $, backticks, backslashes and control characters';
      expect(() => parseModels([{ ...model, id }])).toThrow(`<vendor>/<model_name>, ${form}`);
      expect(() => parseModels([{ ...model, aliases: [id] }])).toThrow(form);
    },
  );
});
