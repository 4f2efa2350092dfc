import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { checksAll } from '../support/seeds.ts';
import { EVERY_OPTION, synthTemplate, WEB_FOLDER } from './synth.ts';

const lint = (...args: string[]) => spawnSync('cfn-lint', args, { encoding: 'utf8' });

// It takes five seconds a template.
const isRun = checksAll && lint('--version').status === 0;
if (checksAll && !isRun)
  process.stderr.write('Not run: test/lib/cfn-lint.test.ts. cfn-lint is not on the path.\n');

/** CDK adds dependencies that a reference already implies. */
const REDUNDANT_DEPENDENCY = 'W3005';
/** cfn-lint's list of types does not contain the Web Function yet. */
const UNKNOWN_TYPE = 'E3006';

/** Findings, one a line. */
const findingsIn = (template: object, ignored: string[] = []): string => {
  const folder = mkdtempSync(join(tmpdir(), 'cfn-lint-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const file = join(folder, 'template.json');
  writeFileSync(file, JSON.stringify(template));
  const { stdout, stderr } = lint(
    '--format',
    'parseable',
    '--ignore-checks',
    REDUNDANT_DEPENDENCY,
    ...ignored,
    '--',
    file,
  );
  return `${stdout}${stderr}`;
};

describe.runIf(isRun)('cfn-lint (npm run test:all, if it is installed)', () => {
  test.each([
    ['dev', {}],
    ['prod with every option', EVERY_OPTION],
  ])('cfn-lint has no finding in %s', (_, context) => {
    expect(findingsIn(synthTemplate(context).toJSON())).toBe('');
  });

  test('cfn-lint has no finding in a stack with a Web Function', () => {
    const template = synthTemplate({ webFunction: 'on' }, { webFolder: WEB_FOLDER });
    expect(findingsIn(template.toJSON(), [UNKNOWN_TYPE])).toBe('');
  });

  test('cfn-lint finds an invalid memory size', () => {
    const invalid = { Type: 'AWS::Lambda::Function', Properties: { MemorySize: 99_999 } };
    expect(findingsIn({ Resources: { invalid } })).toMatch(/E3034/);
  });
});
