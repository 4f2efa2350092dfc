import { readFileSync } from 'node:fs';
import { Match, type Template } from 'aws-cdk-lib/assertions';
import { describe, expect, test } from 'vitest';
import * as z from 'zod';
import type { LogEvent } from '../../lambdas/log-events.ts';
import { NAMESPACE, SCOPES } from '../../lambdas/metrics.ts';
import { createMeasure } from '../../lambdas/telemetry/measure.ts';
import { LOG_EVENTS } from '../support/log-fields.ts';
import { METRIC_NAMES } from '../support/metrics.ts';
import { models, synthTemplate, WEB_FOLDER } from './synth.ts';

const ALARM = 'AWS::CloudWatch::Alarm';
const COMPOSITE = 'AWS::CloudWatch::CompositeAlarm';

const dev = synthTemplate();
const prod = synthTemplate({ stage: 'prod' });
const page = (name: string) => readFileSync(new URL(`../../docs/${name}`, import.meta.url), 'utf8');
const manual = page('operations.md');
const costs = page('deploy.md').replaceAll('\n', ' ');

const Metric = z.object({
  Namespace: z.string(),
  MetricName: z.string(),
  Dimensions: z.array(z.object({ Name: z.string(), Value: z.unknown() })).optional(),
});
const Joined = z.object({ 'Fn::Join': z.tuple([z.literal(''), z.array(z.unknown())]) });

/** The console's domain in a partition. */
const Found = z.object({
  'Fn::FindInMap': z.tuple([z.string(), z.object({ Ref: z.string() }), z.string()]),
});
const Part = z.union([
  z.string(),
  z.object({ Ref: z.string() }).transform(({ Ref }) => `{${Ref}}`),
  Found.transform(({ 'Fn::FindInMap': [, { Ref }, name] }) => `{${name} of ${Ref}}`),
]);

/** A text of the template; a reference becomes `{LogicalId}`. */
const Text = z.union([
  z.string(),
  Joined.transform(({ 'Fn::Join': [, parts] }) => parts.map((part) => Part.parse(part)).join('')),
]);
const Alarm = z.looseObject({
  AlarmName: z.string().optional(),
  AlarmDescription: Text,
  TreatMissingData: z.string().optional(),
  Threshold: z.number().optional(),
  EvaluationPeriods: z.int().optional(),
  Period: z.int().optional(),
  AlarmActions: z.array(z.unknown()).optional(),
  OKActions: z.array(z.unknown()).optional(),
  Metrics: z
    .array(
      z.object({
        Id: z.string().optional(),
        Expression: z.string().optional(),
        MetricStat: z.object({ Metric, Period: z.int() }).optional(),
      }),
    )
    .optional(),
  ...Metric.partial().shape,
});

const found = (template: Template, type: string) =>
  Object.values(template.findResources(type)).map(({ Properties }) => Alarm.parse(Properties));

const alarmsOf = (template: Template) => [...found(template, ALARM), ...found(template, COMPOSITE)];

const anchorOf = ({ AlarmDescription }: z.infer<typeof Alarm>): string =>
  /^Runbook: \S+#(?<anchor>[a-z0-9-]+)$/m.exec(AlarmDescription)?.groups?.anchor ?? '';

const named = (template: Template, id: string) => {
  const alarm = alarmsOf(template).find((one) => anchorOf(one) === id);
  expect(alarm).toBeDefined();
  return Alarm.parse(alarm);
};

/** Metrics of an alarm: its only one, or those of its expression. */
const metricsOf = (alarm: z.infer<typeof Alarm>) => [
  ...(alarm.MetricName === undefined ? [] : [{ ...Metric.parse(alarm), Period: alarm.Period }]),
  ...(alarm.Metrics ?? []).flatMap(({ MetricStat }) =>
    MetricStat ? [{ ...MetricStat.Metric, Period: MetricStat.Period }] : [],
  ),
];

const [, runbookText = ''] = manual.split(/^## Runbooks$/m);
const runbooks = runbookText
  .split(/^## /m)[0]
  ?.split(/^### /m)
  .slice(1)
  .map((text) => ({
    anchor: text.split('\n')[0]?.trim().replaceAll(' ', '-').toLowerCase(),
    text,
  }));

describe('alarms and runbooks', () => {
  test('every alarm has a runbook, and every runbook an alarm', () => {
    const retiring = synthTemplate(
      { webFunction: 'on' },
      { webFolder: WEB_FOLDER, models: models.map((one) => ({ ...one, retires: '2027-01-31' })) },
    );
    const alarms = alarmsOf(retiring).map(anchorOf);
    expect(new Set(alarms).size).toBe(alarms.length);
    expect(alarms.toSorted()).toEqual(runbooks?.map(({ anchor }) => anchor).toSorted());
    expect(alarms.length).toBeGreaterThanOrEqual(14);
  });

  test.each(runbooks ?? [])(
    'the runbook of $anchor has what failed, what callers see and what to do',
    ({ text }) => {
      expect(text).toMatch(/\*\*What failed\.\*\* \S/);
      expect(text).toMatch(/\*\*What callers see\.\*\* \S/);
      expect(text).toMatch(/\*\*What to do\.\*\*\s+(1\. )?\S/);
    },
  );

  test('dev and prod have the same alarms', () => {
    expect(alarmsOf(prod).map(anchorOf).toSorted()).toEqual(alarmsOf(dev).map(anchorOf).toSorted());
  });
});

describe('alarm descriptions', () => {
  test('a description is what failed, then links to the runbook, the dashboard and the logs', () => {
    const [logs] = Object.keys(dev.findResources('AWS::Logs::LogGroup')).filter((id) =>
      id.startsWith('Router'),
    );
    const console =
      'https://{AWS::Region}.{domain of AWS::Partition}/cloudwatch/home?region={AWS::Region}';
    for (const alarm of alarmsOf(dev)) {
      expect(alarm.AlarmDescription.split('\n')).toEqual([
        expect.stringMatching(/^\S.*\.$/),
        `Runbook: https://github.com/model-router/model-router/blob/main/docs/operations.md#${anchorOf(alarm)}`,
        `Dashboard: ${console}#dashboards/dashboard/Router`,
        `Logs: ${console}#logsV2:log-groups/log-group/{${logs}}`,
      ]);
    }
  });

  test('the links lead to the console of the partition', () => {
    expect(dev.findMappings('*')).toMatchObject({
      [Object.keys(dev.findMappings('*'))[0] ?? '']: {
        aws: { domain: 'console.aws.amazon.com' },
        'aws-cn': { domain: 'console.amazonaws.cn' },
        'aws-us-gov': { domain: 'console.amazonaws-us-gov.com' },
      },
    });
  });

  test('the stage option runbookUrl replaces the address of the runbooks', () => {
    const wiki = synthTemplate({ runbookUrl: 'https://wiki.example.com/router' });
    for (const alarm of alarmsOf(wiki)) {
      expect(alarm.AlarmDescription).toContain(
        `\nRunbook: https://wiki.example.com/router#${anchorOf(alarm)}\n`,
      );
    }
  });

  test('every description fits 1,024 characters with the longest runbookUrl and names', () => {
    const runbookUrl = `https://example.com/${'x'.repeat(480)}`;
    for (const { AlarmDescription } of alarmsOf(synthTemplate({ runbookUrl }))) {
      const deployed = AlarmDescription.replaceAll('{AWS::Region}', 'ap-southeast-1')
        .replace('dashboard/Router', `dashboard/${'model-router-prod'}`)
        .replace(/\{\w+\}$/, 'model-router-prod-RouterLogs4973BD4D-AbCdEfGhIjKl');
      expect(deployed.length).toBeLessThanOrEqual(1024);
    }
  });
});

describe('alarm metrics', () => {
  const routerMetrics = found(dev, ALARM)
    .flatMap(metricsOf)
    .filter(({ Namespace }) => Namespace === NAMESPACE);

  test('alarms read router metrics that exist, by the dimension Stage only', () => {
    expect(routerMetrics.length).toBeGreaterThan(8);
    for (const { MetricName, Dimensions } of routerMetrics) {
      expect(SCOPES.stage.metrics).toContain(MetricName);
      expect(Dimensions).toEqual([{ Name: 'Stage', Value: 'dev' }]);
    }
  });

  test('alarms read AWS metrics of this function, this table and the account only', () => {
    const awsMetrics = found(dev, ALARM)
      .flatMap(metricsOf)
      .filter(({ Namespace }) => Namespace !== NAMESPACE)
      .map(({ Namespace, MetricName, Dimensions = [] }) =>
        [Namespace, MetricName, ...Dimensions.map(({ Name }) => Name)].join(' '),
      );
    expect([...new Set(awsMetrics)].toSorted()).toEqual([
      'AWS/DynamoDB SuccessfulRequestLatency Operation TableName',
      'AWS/Lambda ClaimedAccountConcurrency',
      'AWS/Lambda Errors FunctionName',
      'AWS/Lambda Invocations FunctionName',
      'AWS/Lambda Throttles FunctionName',
    ]);
  });

  test('a share keeps its state without data, a run that is missing breaches, other missing data does not', () => {
    for (const alarm of found(dev, ALARM)) {
      const { Expression = '' } = alarm.Metrics?.find((one) => one.Expression) ?? {};
      const usual = Expression.includes('/') ? 'ignore' : 'notBreaching';
      const expected = anchorOf(alarm) === 'history-failed' ? 'breaching' : usual;
      expect([anchorOf(alarm), alarm.TreatMissingData]).toEqual([anchorOf(alarm), expected]);
    }
  });

  test('no alarm reads more than the ten metrics that CloudWatch allows, for more than a day', () => {
    for (const alarm of found(dev, ALARM)) {
      const metrics = metricsOf(alarm);
      const seconds = Math.max(alarm.Period ?? 0, ...metrics.map(({ Period = 0 }) => Period));
      expect(metrics.length).toBeLessThanOrEqual(10);
      expect(seconds * (alarm.EvaluationPeriods ?? 0)).toBeLessThanOrEqual(86_400);
    }
  });

  test('most-requests-fail divides by requests the router logged, crashes and throttles', () => {
    const whole = '(FILL(requests,0)+FILL(errors,0)+FILL(throttles,0)-FILL(denied,0))';
    const part = '(FILL(failed,0)+FILL(errors,0)+FILL(throttles,0))';
    dev.hasResourceProperties(ALARM, {
      AlarmName: 'Router-most-requests-fail',
      Metrics: Match.arrayWith([
        Match.objectLike({
          Expression: `100*${part}/IF((${whole}>=10) OR 100*${part}<=50*${whole},${whole},0)`,
        }),
      ]),
    });
  });

  test('docs/deploy.md states the number of alarms and of their metrics, $0.10 a month each', () => {
    const alarms = found(dev, ALARM);
    const count = alarms.flatMap(metricsOf).length;
    const price = `$${(count / 10).toFixed(2)}`;
    expect(costs).toContain(
      `the ${alarms.length} alarms ${price} ($0.10 for each of their ${count} metrics)`,
    );
  });

  test('the concurrency alarm fires above 80 % of the reserved, else of the account limit', () => {
    expect(named(dev, 'concurrency').Threshold).toBe(800);
    const larger = synthTemplate({ accountConcurrency: '5000' });
    expect(named(larger, 'concurrency').Threshold).toBe(4000);
    const reserved = named(synthTemplate({ reservedConcurrency: '50' }), 'concurrency');
    expect(reserved).toMatchObject({ Threshold: 40, MetricName: 'ConcurrentExecutions' });
  });
});

/** Names in the first column of the table of what has no alarm. */
const [, silentText = ''] = manual.split(/^## Without an alarm$/m);
const silent = (silentText.split(/^## /m)[0] ?? '')
  .split('\n')
  .filter((line) => line.startsWith('| `'))
  .flatMap((line) => {
    const [, names = '', reason = ''] = line.split('|');
    expect(reason.trim()).not.toBe('');
    return [...names.matchAll(/`([^`]+)`/g)].map(([, name = '']) => name);
  });

describe('what is counted', () => {
  test('every metric of the router is read by an alarm, or listed as without one with the reason', () => {
    const read = found(dev, ALARM)
      .flatMap(metricsOf)
      .filter(({ Namespace }) => Namespace === NAMESPACE)
      .map(({ MetricName }) => MetricName);
    const unread = METRIC_NAMES.filter((name) => !read.includes(name));
    expect(
      silent.filter((name) => METRIC_NAMES.some((metric) => metric === name)).toSorted(),
    ).toEqual(unread.toSorted());
  });

  test('every log event is counted by a metric, or listed as without an alarm with the reason', () => {
    const measure = createMeasure([]);
    const events = Object.keys(LOG_EVENTS) as LogEvent[];
    // A fault of a target is counted whatever it is; a request too.
    const uncounted = events.filter((event) => measure(event, {} as never) === undefined);
    expect(silent.filter((name) => events.some((event) => event === name)).toSorted()).toEqual(
      uncounted.toSorted(),
    );
  });
});

describe('service-down', () => {
  test('service-down fires when most-requests-fail or meter-unreachable fires', () => {
    const [composite] = found(dev, COMPOSITE);
    const rule = JSON.stringify(composite?.AlarmRule);
    const ids = [...rule.matchAll(/"([A-Za-z]+)[0-9A-F]{8}","Arn"/g)].map(([, id]) => id);
    expect(ids.toSorted()).toEqual([
      expect.stringContaining('meterunreachable'),
      expect.stringContaining('mostrequestsfail'),
    ]);
  });
});

describe('alarm notifications', () => {
  const topicRef = { Ref: Object.keys(prod.findResources('AWS::SNS::Topic'))[0] };

  test('in prod every alarm except most-requests-fail notifies the topic of ALARM and OK', () => {
    const notifying = alarmsOf(prod).filter(({ AlarmActions }) => AlarmActions !== undefined);
    const silent = alarmsOf(prod).filter(({ AlarmActions }) => AlarmActions === undefined);
    expect(silent.map(anchorOf)).toEqual(['most-requests-fail']);
    for (const { AlarmActions, OKActions } of notifying) {
      expect([AlarmActions, OKActions]).toEqual([[topicRef], [topicRef]]);
    }
  });

  test('the alarm topic is encrypted with a KMS key that CloudWatch may use', () => {
    const [key] = Object.keys(prod.findResources('AWS::KMS::Key'));
    prod.hasResourceProperties('AWS::SNS::Topic', {
      KmsMasterKeyId: { 'Fn::GetAtt': [key, 'Arn'] },
    });
    prod.hasResourceProperties('AWS::KMS::Key', {
      EnableKeyRotation: true,
      KeyPolicy: {
        Statement: Match.arrayWith([
          Match.objectLike({
            Action: ['kms:Decrypt', 'kms:GenerateDataKey*'],
            Principal: { Service: 'cloudwatch.amazonaws.com' },
          }),
        ]),
      },
    });
  });

  test('the alarm topic accepts alarms of this account only and denies requests without TLS', () => {
    prod.hasResourceProperties('AWS::SNS::TopicPolicy', {
      PolicyDocument: {
        Statement: Match.arrayWith([
          Match.objectLike({
            Effect: 'Deny',
            Condition: { Bool: { 'aws:SecureTransport': 'false' } },
          }),
          Match.objectLike({
            Effect: 'Allow',
            Action: 'sns:Publish',
            Principal: { Service: 'cloudwatch.amazonaws.com' },
            Condition: { StringEquals: { 'aws:SourceAccount': { Ref: 'AWS::AccountId' } } },
          }),
        ]),
      },
    });
  });

  test('dev has no alarm topic and no KMS key unless alarmEmail is set', () => {
    dev.resourceCountIs('AWS::SNS::Topic', 0);
    dev.resourceCountIs('AWS::KMS::Key', 0);
  });

  test('alarmEmail subscribes the address in dev; without it prod has no subscription', () => {
    const withEmail = synthTemplate({ alarmEmail: 'oncall@example.com' });
    withEmail.hasResourceProperties('AWS::SNS::Subscription', {
      Protocol: 'email',
      Endpoint: 'oncall@example.com',
    });
    prod.resourceCountIs('AWS::SNS::Subscription', 0);
  });
});
