import { readFileSync, statSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { WEB_BUNDLE } from '../../lib/bundle/bundle.ts';
import { sharedBundle } from '../support/shared-bundle.ts';
import { synthTemplate, WEB_FOLDER } from './synth.ts';

const manual = readFileSync(new URL('../../docs/resources.md', import.meta.url), 'utf8');

/** Cells of the table's rows below a heading, without backticks. */
const rowsBelow = (heading: string): string[][] => {
  const [, section = ''] = manual.split(`## ${heading}\n`);
  const lines = section.split('\n## ')[0]?.split('\n') ?? [];
  return lines
    .filter((line) => line.startsWith('| `'))
    .map((line) => line.split('|').slice(1, -1))
    .map((cells) => cells.map((cell) => cell.replaceAll('`', '').trim()));
};

type Counts = Record<string, number>;

const countTypes = (...args: Parameters<typeof synthTemplate>): Counts => {
  const counts: Counts = {};
  const resources: Record<string, { Type: string }> = synthTemplate(...args).toJSON().Resources;
  for (const { Type } of Object.values(resources)) counts[Type] = (counts[Type] ?? 0) + 1;
  return counts;
};

/** Returns the counts of `more` minus those of `less`, without zeros. */
const difference = (more: Counts, less: Counts): Counts => {
  const types = new Set([...Object.keys(more), ...Object.keys(less)]);
  const changes = [...types].map((type): [string, number] => [
    type,
    (more[type] ?? 0) - (less[type] ?? 0),
  ]);
  return Object.fromEntries(changes.filter(([, change]) => change !== 0));
};

const CERTIFICATE = 'arn:aws:acm:eu-west-1:123456789012:certificate/one';

/** The arguments that enable each option of the page. */
const OPTIONS: Record<string, Parameters<typeof synthTemplate>> = {
  'alarmEmail (dev)': [{ alarmEmail: 'oncall@example.com' }],
  'alertWebhook (dev)': [{ alertWebhook: 'https://hooks.example.com/router' }],
  domainName: [{ domainName: 'router.example.com', certificateArn: CERTIFICATE }],
  firewallRate: [{ firewallRate: '2000' }],
  'functionUrl (off)': [{ functionUrl: 'off' }],
  'keysTable (or another table)': [{ keysTable: 'keys-restored' }],
  upstreamSecret: [
    { upstreamSecret: 'arn:aws:secretsmanager:eu-west-1:123456789012:secret:upstreams-a1B2c3' },
  ],
  userPool: [{ userPool: 'eu-west-1_a1B2c3D4e' }],
  'replayHours (0)': [{ replayHours: '0' }],
  'dashboard (off)': [{ dashboard: 'off' }],
  otlpEndpoint: [{ otlpEndpoint: 'https://otlp.example.com', otlpHeaders: 'secret' }],
  webFunction: [{ webFunction: 'on' }, { webFolder: WEB_FOLDER }],
  others: [
    {
      reservedConcurrency: '100',
      adminConcurrency: '5',
      accountConcurrency: '2000',
      logRetention: '90',
      runbookUrl: 'https://wiki.example.com/router',
      memory: '1024',
      restRate: '500',
      restBurst: '600',
      kmsKey: 'arn:aws:kms:eu-west-1:123456789012:key/1234abcd-12ab-34cd-56ef-1234567890ab',
      tags: 'team=ai',
      corsOrigins: 'https://app.example',
      recordDays: '90',
      historyMinutes: '5',
      countTokens: 'provider',
      traceparent: 'pass',
    },
  ],
};

describe('the list of resources in docs/resources.md', () => {
  const listed = rowsBelow('Every stage');
  const column = (index: number): Counts =>
    Object.fromEntries(
      listed.filter((row) => row[index] !== '').map((row) => [row[0] ?? '', Number(row[index])]),
    );

  test('docs/resources.md lists the number of resources of dev and prod by type', () => {
    expect(column(1)).toEqual(countTypes());
    expect(column(2)).toEqual(countTypes({ stage: 'prod' }));
  });

  test('docs/resources.md lists every resource type once, with a reason', () => {
    expect(new Set(listed.map(([type]) => type)).size).toBe(listed.length);
    for (const [, , , why] of listed) expect(why).toMatch(/\w{3}/);
  });

  test.each(Object.entries(OPTIONS))(
    'docs/resources.md lists what the option %s adds and removes',
    (option, args) => {
      const [, resources = ''] =
        rowsBelow('What options add').find(([name]) => name === option) ?? [];
      const added = Object.fromEntries(
        [...resources.matchAll(/([+-]\d+) ([\w:]+)/g)].map(([, count, type]) => [
          type,
          Number(count),
        ]),
      );
      expect(added).toEqual(difference(countTypes(...args), countTypes()));
    },
  );
});

describe('the sizes of the bundles in docs/resources.md', () => {
  const BUNDLES = [
    { entry: 'lambdas/router.ts' },
    { entry: 'lambdas/admin.ts' },
    { entry: 'lambdas/console-files.ts' },
    { entry: 'lambdas/otlp.ts' },
    { entry: 'lambdas/alerts.ts' },
    WEB_BUNDLE,
  ];

  test.each(BUNDLES)(
    'the bundle size of $entry in docs/resources.md is right to 10 %',
    (options) => {
      const [, listedKb] =
        rowsBelow('The bundles').find(([entry]) => entry === options.entry) ?? [];
      const { file } = sharedBundle(options);
      const share = statSync(file).size / 1024 / Number(listedKb);
      expect(share).toBeGreaterThan(0.9);
      expect(share).toBeLessThan(1.1);
    },
  );
});
