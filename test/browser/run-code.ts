import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import type { Locator } from 'playwright-core';
import { expect } from 'vitest';
import { temporaryFolder } from '../support/temporary-folder.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));

/** Calls each of its models as Claude Code does: the SDK reads the address and the token from the environment. */
const ASK_AS_CLAUDE = `import Anthropic from '@anthropic-ai/sdk';
const { ANTHROPIC_MODEL: main, ANTHROPIC_DEFAULT_HAIKU_MODEL: small } = process.env;
for (const model of [main, small]) {
  const { content } = await new Anthropic({ apiKey: null }).messages.create({
    model, max_tokens: 100, messages: [{ role: 'user', content: 'say the code works' }],
  });
  console.log(content[0].text);
}`;

const quoted = (argument: string): string => `'${argument.replaceAll("'", "'\\''")}'`;

export type RunCode = (code: { title: string; text: string }, key: string) => Promise<string>;

/** Runs code as a reader would, in a folder with the SDKs; the key is in the variable that the code names. */
export const useRunCode = (): RunCode => {
  const folder = temporaryFolder('console-code');
  const claude = join(folder, 'claude');
  const ask = [process.execPath, '--input-type=module', '-e', ASK_AS_CLAUDE].map(quoted).join(' ');
  writeFileSync(claude, `#!/bin/sh\nexec ${ask}\n`);
  chmodSync(claude, 0o755);

  return async ({ title, text: code }, key) => {
    const isShell = title === 'curl' || title === 'Claude Code';
    const [command, args] = isShell
      ? ['sh', ['-c', code]]
      : [process.execPath, ['--input-type=module', '-e', code]];
    const env = {
      PATH: `${folder}${delimiter}${process.env.PATH}`,
      HOME: folder,
      ROUTER_API_KEY: key,
    };
    const child = spawn(command, args, { cwd: root, env, stdio: ['ignore', 'pipe', 'pipe'] });
    const closed = once(child, 'close');
    const [out, err, [status]] = await Promise.all([
      text(child.stdout),
      text(child.stderr),
      closed,
    ]);
    expect({ title, status, err: isShell ? '' : err }).toEqual({
      title,
      status: 0,
      err: '',
    });
    return out;
  };
};

/** The code of every tab, as the page shows it. */
export const codesIn = async (panel: Locator): Promise<{ title: string; text: string }[]> => {
  const codes = [];
  for (const tab of await panel.getByRole('tab').all()) {
    await tab.click();
    const shown = panel.getByRole('tabpanel').locator('code');
    codes.push({ title: await tab.innerText(), text: await shown.innerText() });
  }
  return codes;
};
