import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { start } from '../local/local-process.ts';
import { modelOn, targetAt } from '../support/models.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const folder = temporaryFolder('bad-catalog');

const write = (name: string, content: unknown): string => {
  const file = join(folder, name);
  writeFileSync(file, JSON.stringify(content));
  return file;
};
const targets = [{ quota: { tpm: 0 } }, { weight: 0 }, { weight: 1_000_000 }].map((wrong) =>
  targetAt('https://a.test', { tier: 0, ...wrong }),
);
const catalog = write('catalog.json', [modelOn(targets)]);
const secrets = write('secrets.json', { secret: 'credential' });

/** The app of `cdk synth -c catalog=FILE`, with the context as the CDK hands it over. */
const synth = () =>
  spawn(process.execPath, ['bin/router.ts'], {
    cwd: root,
    env: { ...process.env, CDK_CONTEXT_JSON: JSON.stringify({ catalog }) },
  });

test.each([
  ['cdk synth', synth],
  ['npm start', () => start(['--catalog', catalog, '--secrets', secrets])],
])(
  '%s ends with each quota of zero and each weight out of range, and says where it is',
  async (_, run) => {
    const child = run();
    const [said, [code]] = await Promise.all([text(child.stderr), once(child, 'exit')]);
    expect(code).toBe(1);
    expect(said.trim().split('\n')).toEqual([
      `${catalog}: The catalog is not valid.`,
      '✖ must be more than 0: a target without requests is removed',
      '  → at [0].targets[1].weight',
      '✖ must be at most 1000',
      '  → at [0].targets[2].weight',
      '✖ must be more than 0: a target without room is removed',
      '  → at [0].targets[0].quota.tpm',
    ]);
  },
);
