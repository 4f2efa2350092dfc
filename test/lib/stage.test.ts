import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, onTestFinished, test } from 'vitest';
import { readStage } from '../../lib/stage.ts';
import { createApp } from './synth.ts';

const read = (context: Record<string, unknown>) => readStage(createApp(context).node);

describe('stage options', () => {
  test('dev and prod have different defaults for data protection and alarms', () => {
    expect(read({})).toMatchObject({ name: 'dev', protectData: false, sendsAlarms: false });
    expect(read({ stage: 'prod' })).toMatchObject({ protectData: true, sendsAlarms: true });
  });

  test('a number option accepts digits from the CLI and a number from cdk.json', () => {
    expect(read({ reservedConcurrency: '0' }).reservedConcurrency).toBe(0);
    expect(read({ reservedConcurrency: 50 }).reservedConcurrency).toBe(50);
  });

  test.each([
    ['empty, as from an unset variable', ''],
    ['blank', ' '],
    ['a boolean', true],
    ['null', null],
    ['negative', '-1'],
    ['a fraction', '1.5'],
    ['hexadecimal', '0x10'],
  ])(
    'a reservedConcurrency that is %s is rejected, so that it cannot act as 0',
    (_, reservedConcurrency) => {
      expect(() => read({ reservedConcurrency })).toThrow(/at reservedConcurrency/);
    },
  );

  test('an unknown stage option is rejected by its name', () => {
    expect(() => read({ reservedConcurency: '0' })).toThrow(/"reservedConcurency"/);
    expect(() => read({ webfunction: 'on' })).toThrow(/"webfunction"/);
  });

  test.each([
    ['http', 'http://wiki.example.com/router'],
    ['no URL', 'docs/operations.md'],
    ['empty', ''],
    ['with a fragment', 'https://wiki.example.com/router#top'],
    ['of 501 characters', `https://example.com/${'x'.repeat(481)}`],
  ])('a runbookUrl that is %s is rejected', (_, runbookUrl) => {
    expect(() => read({ runbookUrl })).toThrow(/at runbookUrl/);
  });

  test('the option catalog and the context keys of CDK are not stage options', () => {
    const others = { catalog: 'catalog.json', 'aws:cdk:x': 1, 'availability-zones:account=1': [] };
    expect(read(others).name).toBe('dev');
  });
});

test('synth prints a configuration error without a stack trace and exits with 1', () => {
  const outdir = mkdtempSync(join(tmpdir(), 'synth-'));
  onTestFinished(() => rmSync(outdir, { recursive: true }));
  const app = fileURLToPath(new URL('../../bin/router.ts', import.meta.url));
  const context = { catalog: join(outdir, 'none.json') };
  const { status, stderr } = spawnSync(process.execPath, [app], {
    encoding: 'utf8',
    env: { ...process.env, CDK_OUTDIR: outdir, CDK_CONTEXT_JSON: JSON.stringify(context) },
  });
  expect(status).toBe(1);
  expect(stderr.trim().split('\n')).toEqual([expect.stringMatching(/none\.json: ENOENT/)]);
});
