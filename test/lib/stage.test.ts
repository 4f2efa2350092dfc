import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, onTestFinished, test } from 'vitest';
import { readStage } from '../../lib/stage.ts';
import { createApp } from './synth.ts';

const read = (context: Record<string, unknown>) => readStage(createApp(context).node);

describe('the options of a stage', () => {
  test('have defaults, and each stage its own', () => {
    expect(read({})).toMatchObject({ name: 'dev', protectData: false, sendsAlarms: false });
    expect(read({ stage: 'prod' })).toMatchObject({ protectData: true, sendsAlarms: true });
  });

  test('are numbers as the CLI passes them, or as cdk.json has them', () => {
    expect(read({ reservedConcurrency: '0' }).reservedConcurrency).toBe(0);
    expect(read({ reservedConcurrency: 50 }).reservedConcurrency).toBe(50);
  });

  test.each([
    ['empty: a variable that is not set must not pull the kill switch', ''],
    ['blank', ' '],
    ['a switch', true],
    ['nothing', null],
    ['negative', '-1'],
    ['broken', '1.5'],
    ['in other digits', '0x10'],
  ])('are refused when a number is %s', (_, reservedConcurrency) => {
    expect(() => read({ reservedConcurrency })).toThrow(/at reservedConcurrency/);
  });

  test('that nobody reads are refused by their name', () => {
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

  test('leave the catalog and what belongs to CDK alone', () => {
    const others = { catalog: 'catalog.json', 'aws:cdk:x': 1, 'availability-zones:account=1': [] };
    expect(read(others).name).toBe('dev');
  });
});

test('what is wrong is all that synth prints about it', () => {
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
