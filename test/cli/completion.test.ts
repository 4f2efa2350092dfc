import { execFileSync, spawnSync } from 'node:child_process';
import { describe, expect, test } from 'vitest';
import { COMMANDS } from '../../cli/commands.ts';

const scriptOf = (shell: string): string =>
  execFileSync(process.execPath, ['local/command.ts', 'completion', shell], { encoding: 'utf8' });

/** What bash offers for the last of the words. */
const offered = (script: string, ...words: string[]): string[] => {
  const line = ['model-router', ...words].map((word) => `'${word}'`).join(' ');
  const ask = `COMP_WORDS=(${line}); COMP_CWORD=${words.length}; _model_router; printf '%s\\n' "\${COMPREPLY[@]}"`;
  const { stdout, stderr } = spawnSync('bash', ['-c', `${script}\n${ask}`], { encoding: 'utf8' });
  expect(stderr).toBe('');
  return stdout.trim().split('\n');
};

describe('model-router completion', () => {
  test('the script for bash completes commands, verbs, options and clients', () => {
    const script = scriptOf('bash');
    expect(offered(script, 'ad')).toEqual(['admin']);
    expect(offered(script, 'admin', 'ke')).toEqual(['keys']);
    expect(offered(script, 'admin', 'keys', 're').toSorted()).toEqual(['resume', 'revoke']);
    expect(offered(script, 'admin', 'keys', 'rotate', 'key_1', '--o')).toEqual(['--overlap']);
    expect(offered(script, 'admin', 'keys', 'list', '--json', '--p')).toEqual([
      '--project',
      '--profile',
    ]);
    expect(offered(script, 'connect', 'clau')).toEqual(['claude']);
    expect(offered(script, 'completion', '')).toEqual(['bash', 'zsh', 'fish']);
  });

  test.each(['zsh', 'fish'])('the script for %s names every command', (shell) => {
    const script = scriptOf(shell);
    for (const name of Object.keys(COMMANDS)) expect(script).toContain(`admin ${name}`);
  });

  test('another shell ends with exit code 2 and the usage', () => {
    const { status, stderr } = spawnSync(
      process.execPath,
      ['local/command.ts', 'completion', 'sh'],
      { encoding: 'utf8' },
    );
    expect(status).toBe(2);
    expect(stderr).toMatch(/^Usage: model-router completion bash\|zsh\|fish/);
  });
});
