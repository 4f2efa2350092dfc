import { execFile, spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, test } from 'vitest';
import { banner } from '../../local/banner.ts';
import { useRouter } from '../support/local.ts';

const run = promisify(execFile);
const root = fileURLToPath(new URL('../..', import.meta.url));

const hasCurl = spawnSync('curl', ['--version']).status === 0;

describe('the lines to paste', () => {
  const router = useRouter();

  /** The text below a heading of the banner, as a person would copy it. */
  const pasted = (heading: string): string => {
    const { baseUrl, key, models } = router();
    const text = banner({ baseUrl, key, models: models.map(({ id }) => id) });
    return text.split(`# ${heading}\n`)[1]?.split('\n\n# ')[0] ?? '';
  };

  test.skipIf(!hasCurl)('curl streams a chat completion', async () => {
    const { stdout } = await run('sh', ['-c', pasted('Chat completions, streamed')]);
    expect(stdout.match(/"content":"/g)?.length).toBeGreaterThan(5);
    expect(stdout).toMatch(/data: \[DONE\]\s*$/);
  });

  test.skipIf(!hasCurl)('curl streams a message', async () => {
    const { stdout } = await run('sh', ['-c', pasted('Messages, streamed')]);
    expect(stdout.match(/"text_delta"/g)?.length).toBeGreaterThan(5);
    expect(stdout).toMatch(/event: message_stop\n.*\s*$/);
  });

  test('the operator sees the key and what it used', async () => {
    const command = pasted('Keys and usage (npm run admin -- --help)');
    const { stdout } = await run('sh', ['-c', command], { cwd: root });
    expect(stdout).toMatch(/^ID .* USED .*\nkey_\w+ .* active /);
  });

  test.each(['OpenAI SDK', 'Anthropic SDK'])('the %s prints the whole answer', async (heading) => {
    const script = ['--input-type=module', '--eval', pasted(heading)];
    const { stdout } = await run(process.execPath, script, { cwd: root });
    expect(stdout).toBe('Hello from scribe-1! You said "Tell me something nice.".');
  });

  test('Claude Code gets the address without a version, the key and a model of the catalog', () => {
    const { baseUrl, key } = router();
    const settings = Object.fromEntries(
      [...pasted('Claude Code').matchAll(/(\w+)=(\S+)/g)].map(([, name, value]) => [name, value]),
    );
    expect(settings).toMatchObject({
      ANTHROPIC_BASE_URL: baseUrl,
      ANTHROPIC_AUTH_TOKEN: key,
      ANTHROPIC_MODEL: "'aurora/scribe-1'",
    });
  });
});
