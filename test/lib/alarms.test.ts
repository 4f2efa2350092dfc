import { readFileSync } from 'node:fs';
import { Match, type Template } from 'aws-cdk-lib/assertions';
import { describe, expect, test } from 'vitest';
import * as z from 'zod';
import { NAMESPACE, SCOPES } from '../../lambdas/metrics.ts';
import { synthTemplate } from './synth.ts';

const ALARM = 'AWS::CloudWatch::Alarm';
const COMPOSITE = 'AWS::CloudWatch::CompositeAlarm';

const dev = synthTemplate();
const prod = synthTemplate({ stage: 'prod' });
const manual = readFileSync(new URL('../../docs/operations.md', import.meta.url), 'utf8');

const Metric = z.object({
  Namespace: z.string(),
  MetricName: z.string(),
  Dimensions: z.array(z.object({ Name: z.string(), Value: z.unknown() })).optional(),
});
const Alarm = z.looseObject({
  AlarmName: z.string().optional(),
  AlarmDescription: z.string(),
  TreatMissingData: z.string().optional(),
  Threshold: z.number().optional(),
  AlarmActions: z.array(z.unknown()).optional(),
  OKActions: z.array(z.unknown()).optional(),
  Metrics: z
    .array(z.object({ Id: z.string().optional(), MetricStat: z.object({ Metric }).optional() }))
    .optional(),
  ...Metric.partial().shape,
});

const found = (template: Template, type: string) =>
  Object.values(template.findResources(type)).map(({ Properties }) => Alarm.parse(Properties));

const alarmsOf = (template: Template) => [...found(template, ALARM), ...found(template, COMPOSITE)];

const anchorOf = ({ AlarmDescription }: z.infer<typeof Alarm>): string =>
  /docs\/operations\.md#(?<anchor>[a-z0-9-]+)$/.exec(AlarmDescription)?.groups?.anchor ?? '';

const named = (template: Template, id: string) => {
  const alarm = alarmsOf(template).find((one) => anchorOf(one) === id);
  expect(alarm).toBeDefined();
  return Alarm.parse(alarm);
};

/** Metrics of an alarm, whether it watches one or reckons with several. */
const metricsOf = (alarm: z.infer<typeof Alarm>) => [
  ...(alarm.MetricName === undefined ? [] : [Metric.parse(alarm)]),
  ...(alarm.Metrics ?? []).flatMap(({ MetricStat }) => (MetricStat ? [MetricStat.Metric] : [])),
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
    const alarms = alarmsOf(dev).map(anchorOf);
    expect(new Set(alarms).size).toBe(alarms.length);
    expect(alarms.toSorted()).toEqual(runbooks?.map(({ anchor }) => anchor).toSorted());
    expect(alarms.length).toBeGreaterThanOrEqual(14);
  });

  test.each(runbooks ?? [])(
    '$anchor says what failed, what callers see and what to do',
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

describe('what the alarms watch', () => {
  const own = found(dev, ALARM)
    .flatMap(metricsOf)
    .filter(({ Namespace }) => Namespace === NAMESPACE);

  test('is written by the router, under the stage alone', () => {
    expect(own.length).toBeGreaterThan(8);
    for (const { MetricName, Dimensions } of own) {
      expect(SCOPES.stage.metrics).toContain(MetricName);
      expect(Dimensions).toEqual([{ Name: 'Stage', Value: 'dev' }]);
    }
  });

  test('or by AWS for this function and this table, or for the account', () => {
    const theirs = found(dev, ALARM)
      .flatMap(metricsOf)
      .filter(({ Namespace }) => Namespace !== NAMESPACE)
      .map(({ Namespace, MetricName, Dimensions = [] }) =>
        [Namespace, MetricName, ...Dimensions.map(({ Name }) => Name)].join(' '),
      );
    expect([...new Set(theirs)].toSorted()).toEqual([
      'AWS/DynamoDB SuccessfulRequestLatency Operation TableName',
      'AWS/DynamoDB ThrottledRequests Operation TableName',
      'AWS/Lambda ClaimedAccountConcurrency',
      'AWS/Lambda Errors FunctionName',
      'AWS/Lambda Throttles FunctionName',
    ]);
  });

  test('is good while nothing is counted', () => {
    const missing = found(dev, ALARM).map(({ TreatMissingData }) => TreatMissingData);
    expect(new Set(missing)).toEqual(new Set(['notBreaching']));
  });

  test('counts requests as the router does, through whichever door they came', () => {
    const { Metrics } = named(dev, 'most-requests-fail');
    const whole = Metrics?.filter(({ Id }) => Id?.startsWith('whole'));
    expect(whole?.map(({ MetricStat }) => MetricStat?.Metric.MetricName)).toEqual([
      'Requests',
      'Errors',
      'Throttles',
    ]);
  });

  test('is a share of requests only where enough of them came', () => {
    dev.hasResourceProperties(ALARM, {
      AlarmDescription: Match.stringLikeRegexp('#server-errors$'),
      Metrics: Match.arrayWith([
        Match.objectLike({
          Expression: 'IF((FILL(whole0,0))>=20,100*(FILL(part0,0))/(FILL(whole0,0)),0)',
        }),
      ]),
    });
  });

  test('is concurrency against 80 % of the reserve, or of the account', () => {
    expect(named(dev, 'concurrency').Threshold).toBe(800);
    const larger = synthTemplate({ accountConcurrency: '5000' });
    expect(named(larger, 'concurrency').Threshold).toBe(4000);
    const reserved = named(synthTemplate({ reservedConcurrency: '50' }), 'concurrency');
    expect(reserved).toMatchObject({ Threshold: 40, MetricName: 'ConcurrentExecutions' });
  });
});

describe('service-down', () => {
  test('rings when most requests fail or the meter is out of reach', () => {
    const [composite] = found(dev, COMPOSITE);
    const rule = JSON.stringify(composite?.AlarmRule);
    const ids = [...rule.matchAll(/"([A-Za-z]+)[0-9A-F]{8}","Arn"/g)].map(([, id]) => id);
    expect(ids.toSorted()).toEqual([
      expect.stringContaining('meterunreachable'),
      expect.stringContaining('mostrequestsfail'),
    ]);
  });
});

describe('who is told', () => {
  const topicRef = { Ref: Object.keys(prod.findResources('AWS::SNS::Topic'))[0] };

  test('in prod a topic, of the beginning and the end of every alarm but the one inside the composite', () => {
    const telling = alarmsOf(prod).filter(({ AlarmActions }) => AlarmActions !== undefined);
    const silent = alarmsOf(prod).filter(({ AlarmActions }) => AlarmActions === undefined);
    expect(silent.map(anchorOf)).toEqual(['most-requests-fail']);
    for (const { AlarmActions, OKActions } of telling) {
      expect([AlarmActions, OKActions]).toEqual([[topicRef], [topicRef]]);
    }
  });

  test('through a topic encrypted with a key that CloudWatch may use', () => {
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

  test('which takes the alarms of this account, and nothing without TLS', () => {
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

  test('in dev nobody, and nothing is paid for a key', () => {
    dev.resourceCountIs('AWS::SNS::Topic', 0);
    dev.resourceCountIs('AWS::KMS::Key', 0);
  });

  test('an address, in either stage, if the stage names one', () => {
    const told = synthTemplate({ alarmEmail: 'oncall@example.com' });
    told.hasResourceProperties('AWS::SNS::Subscription', {
      Protocol: 'email',
      Endpoint: 'oncall@example.com',
    });
    prod.resourceCountIs('AWS::SNS::Subscription', 0);
  });
});
