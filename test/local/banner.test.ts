import { execFile, spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, test } from 'vitest';
import { banner } from '../../local/banner.ts';
import { useRouter } from '../support/local.ts';

const run = promisify(execFile);
const root = fileURLToPath(new URL('../..', import.meta.url));

const hasCurl = spawnSync('curl', ['--version']).status === 0;

describe('the banner', () => {
  const router = useRouter();

  /** The text below a heading of the banner, as a person would copy it. */
  const pasted = (heading: string): string => {
    return banner(router()).split(`# ${heading}\n`)[1]?.split('\n\n# ')[0] ?? '';
  };

  test.skipIf(!hasCurl)('the pasted curl command streams a chat completion', async () => {
    const { stdout } = await run('sh', ['-c', pasted('Chat completions, streamed')]);
    expect(stdout.match(/"content":"/g)?.length).toBeGreaterThan(5);
    expect(stdout).toMatch(/data: \[DONE\]\s*$/);
  });

  test.skipIf(!hasCurl)('the pasted curl command streams a message', async () => {
    const { stdout } = await run('sh', ['-c', pasted('Messages, streamed')]);
    expect(stdout.match(/"text_delta"/g)?.length).toBeGreaterThan(5);
    expect(stdout).toMatch(/event: message_stop\n.*\s*$/);
  });

  test('commands of a folder that has its key already hold a placeholder', () => {
    const text = banner({ baseUrl: 'http://127.0.0.1:1', key: '', models: [] });
    expect(text).toContain('key       the one that the first start on this folder printed');
    expect(text).toContain("'authorization: Bearer YOUR_KEY'");
    expect(text).not.toMatch(/(Bearer |KEY=|api-key: |TOKEN=)['\n ]/);
  });

  test('a model that is retired is not among those that can be called', () => {
    const { models } = router();
    const old = models.map((model) => ({ ...model, id: 'old/one', retires: '2020-01-01' }));
    const text = banner({ ...router(), models: [...old, ...models] });
    expect(text).toBe(banner(router()));
  });

  test('the pasted admin command prints the key and its usage', async () => {
    const command = pasted('Keys and usage (npm run -s admin -- --help)');
    const { stdout } = await run('sh', ['-c', command], { cwd: root });
    expect(stdout).toMatch(/^ID .* USED .*\nkey_\w+ .* active /);
  });

  test.each(['OpenAI SDK', 'Anthropic SDK'])(
    'the pasted %s script prints the whole response',
    async (heading) => {
      const script = ['--input-type=module', '--eval', pasted(heading)];
      const { stdout } = await run(process.execPath, script, { cwd: root });
      expect(stdout).toBe('Hello from scribe-1! You said "Tell me something nice.".');
    },
  );

  test('the Claude Code line sets the address without /v1, the key, a model of the catalog and its window', () => {
    const { baseUrl, key } = router();
    const settings = Object.fromEntries(
      [...pasted('Claude Code').matchAll(/(\w+)=(\S+)/g)].map(([, name, value]) => [name, value]),
    );
    expect(settings).toMatchObject({
      ANTHROPIC_BASE_URL: baseUrl,
      ANTHROPIC_AUTH_TOKEN: key,
      ANTHROPIC_MODEL: 'aurora/scribe-1',
      CLAUDE_CODE_MAX_CONTEXT_TOKENS: '1048576',
    });
  });
});
