import { Annotations, Match, type Template } from 'aws-cdk-lib/assertions';
import { describe, expect, test } from 'vitest';
import { RouterEnv } from '../../lambdas/env.ts';
import { PARTITION_KEY, SORT_KEY, TTL_ATTRIBUTE } from '../../lambdas/tables.ts';
import { exampleModels, models, synthStack, synthTemplate } from './synth.ts';

const dev = synthTemplate();
const prod = synthTemplate({ stage: 'prod' });

/** The only resource of a type, in the construct of that name if given; fails where there is none or a second one. */
const only = (template: Template, type: string, name = ''): { id: string; properties: Props } => {
  const found = Object.entries(template.findResources(type)).filter(([id]) => id.startsWith(name));
  expect(found).toHaveLength(1);
  const [id, resource] = found[0] ?? ['', {}];
  return { id, properties: resource.Properties ?? {} };
};
type Props = Record<string, unknown>;

const ids = (template: Template, type: string, props: unknown = {}): string[] =>
  Object.keys(template.findResources(type, props));

describe('the role of the router', () => {
  const tableArn = (name: string) => {
    const [id] = ids(dev, 'AWS::DynamoDB::GlobalTable').filter((key) => key.includes(name));
    return { 'Fn::GetAtt': [id, 'Arn'] };
  };

  test('the role of the router allows exactly these actions on exactly these resources', () => {
    const policy = only(dev, 'AWS::IAM::Policy', 'Router').properties;
    const bucketArn = { 'Fn::GetAtt': [only(dev, 'AWS::S3::Bucket').id, 'Arn'] };
    expect(policy.PolicyDocument).toEqual({
      Version: '2012-10-17',
      Statement: [
        {
          Effect: 'Allow',
          Action: ['logs:CreateLogStream', 'logs:PutLogEvents'],
          Resource: { 'Fn::GetAtt': [only(dev, 'AWS::Logs::LogGroup', 'Router').id, 'Arn'] },
        },
        {
          Effect: 'Allow',
          Action: 'dynamodb:GetItem',
          Resource: [tableArn('Keys'), tableArn('Plans')],
        },
        {
          Effect: 'Allow',
          Action: 'dynamodb:Query',
          Resource: { 'Fn::Join': ['', [tableArn('Keys'), '/index/byProject']] },
        },
        {
          Effect: 'Allow',
          Action: ['dynamodb:GetItem', 'dynamodb:UpdateItem'],
          Resource: [tableArn('Answers'), tableArn('Meters')],
        },
        {
          Effect: 'Allow',
          Action: ['dynamodb:GetItem', 'dynamodb:Query', 'dynamodb:UpdateItem'],
          Resource: tableArn('Records'),
        },
        {
          Effect: 'Allow',
          Action: ['dynamodb:GetItem', 'dynamodb:Query'],
          Resource: tableArn('History'),
        },
        {
          Effect: 'Allow',
          Action: ['s3:GetObject', 's3:PutObject'],
          Resource: { 'Fn::Join': ['', [bucketArn, '/*']] },
        },
        {
          Effect: 'Allow',
          Action: 's3:DeleteObject',
          Resource: { 'Fn::Join': ['', [bucketArn, '/responses/*']] },
        },
        { Effect: 'Allow', Action: 's3:ListBucket', Resource: bucketArn },
        {
          Effect: 'Allow',
          Action: 'secretsmanager:GetSecretValue',
          Resource: { Ref: only(dev, 'AWS::SecretsManager::Secret').id },
        },
        {
          Effect: 'Allow',
          Action: 'events:PutEvents',
          Resource: {
            'Fn::Join': [
              '',
              [
                'arn:',
                { Ref: 'AWS::Partition' },
                ':events:',
                { Ref: 'AWS::Region' },
                ':',
                { Ref: 'AWS::AccountId' },
                ':event-bus/default',
              ],
            ],
          },
          Condition: { StringEquals: { 'events:source': 'model-router' } },
        },
      ],
    });
  });

  test('the role of the router has no managed policy', () => {
    const role = only(dev, 'AWS::IAM::Role', 'Router').properties;
    expect(role).not.toHaveProperty('ManagedPolicyArns');
    expect(role).not.toHaveProperty('Policies');
  });
});

describe('the function', () => {
  test('the router function runs Node 24 on arm64 with 256 MB and a timeout of 15 minutes', () => {
    dev.hasResourceProperties('AWS::Lambda::Function', {
      Runtime: 'nodejs24.x',
      Architectures: ['arm64'],
      MemorySize: 256,
      Timeout: 900,
      Handler: 'index.handler',
    });
    dev.resourceCountIs('AWS::Lambda::Function', 3);
  });

  test('the router function gets exactly the environment variables that it reads', () => {
    const { properties } = only(dev, 'AWS::Lambda::Function', 'Router');
    const variables = (properties.Environment as { Variables: Props }).Variables;
    expect(Object.keys(variables).sort()).toEqual(Object.keys(RouterEnv.shape).sort());
  });

  test('the router function logs JSON into its own group, kept 7 days in dev and 30 in prod', () => {
    dev.hasResourceProperties('AWS::Lambda::Function', {
      LoggingConfig: {
        LogFormat: 'JSON',
        LogGroup: { Ref: only(dev, 'AWS::Logs::LogGroup', 'Router').id },
      },
    });
    dev.hasResourceProperties('AWS::Logs::LogGroup', { RetentionInDays: 7 });
    prod.hasResourceProperties('AWS::Logs::LogGroup', { RetentionInDays: 30 });
  });

  test('the router function reserves concurrency only with reservedConcurrency, also 0', () => {
    dev.hasResourceProperties('AWS::Lambda::Function', {
      ReservedConcurrentExecutions: Match.absent(),
    });
    synthTemplate({ reservedConcurrency: '50' }).hasResourceProperties('AWS::Lambda::Function', {
      ReservedConcurrentExecutions: 50,
    });
    synthTemplate({ reservedConcurrency: '0' }).hasResourceProperties('AWS::Lambda::Function', {
      ReservedConcurrentExecutions: 0,
    });
  });
});

test('the admin function reserves concurrency only with adminConcurrency', () => {
  const reserved = (context: Record<string, string>) =>
    only(synthTemplate(context), 'AWS::Lambda::Function', 'Admin').properties
      .ReservedConcurrentExecutions;
  expect(reserved({})).toBeUndefined();
  expect(reserved({ adminConcurrency: '5' })).toBe(5);
  expect(() => synthStack({ adminConcurrency: '0' })).toThrow(/at adminConcurrency/);
});

describe('the Function URL', () => {
  const functionArn = { 'Fn::GetAtt': [only(dev, 'AWS::Lambda::Function', 'Router').id, 'Arn'] };

  test('the Function URL streams and leaves authentication to the router', () => {
    expect(only(dev, 'AWS::Lambda::Url').properties).toEqual({
      AuthType: 'NONE',
      InvokeMode: 'RESPONSE_STREAM',
      TargetFunctionArn: functionArn,
    });
  });

  test('the Function URL has both permissions, without which AWS responds 403', () => {
    dev.hasResourceProperties('AWS::Lambda::Permission', {
      Action: 'lambda:InvokeFunctionUrl',
      FunctionName: functionArn,
      FunctionUrlAuthType: 'NONE',
      Principal: '*',
    });
    dev.hasResourceProperties('AWS::Lambda::Permission', {
      Action: 'lambda:InvokeFunction',
      FunctionName: functionArn,
      InvokedViaFunctionUrl: true,
      Principal: '*',
    });
  });

  test('only the Function URL has permissions for every principal', () => {
    const open = ids(dev, 'AWS::Lambda::Permission', { Properties: { Principal: '*' } });
    expect(open).toHaveLength(2);
    dev.hasResourceProperties('AWS::Lambda::Permission', {
      Action: 'lambda:InvokeFunction',
      Principal: 'apigateway.amazonaws.com',
      SourceArn: Match.anyValue(),
    });
    // The rest are of the schedules and of the methods below, for one function each.
    dev.resourceCountIs('AWS::Lambda::Permission', 11);
  });

  test('a schedule sends the router function the event of webhooks every five minutes, unless no response is kept', () => {
    const rule = {
      ScheduleExpression: 'rate(5 minutes)',
      Targets: [Match.objectLike({ Input: '{"job":"webhooks"}' })],
    };
    dev.hasResourceProperties('AWS::Events::Rule', rule);
    synthTemplate({ replayHours: '0' }).resourcePropertiesCountIs('AWS::Events::Rule', rule, 0);
  });
});

describe('the REST API', () => {
  test('the REST API is regional', () => {
    dev.hasResourceProperties('AWS::ApiGateway::RestApi', {
      EndpointConfiguration: { Types: ['REGIONAL'] },
    });
  });

  test('the REST API streams every method and path from the router function for up to 15 minutes', () => {
    const streamed = {
      Properties: {
        HttpMethod: 'ANY',
        Integration: {
          Type: 'AWS_PROXY',
          IntegrationHttpMethod: 'POST',
          ResponseTransferMode: 'STREAM',
          TimeoutInMillis: 900_000,
          Uri: {
            'Fn::Join': [
              '',
              Match.arrayWith([
                ':lambda:path/2021-11-15/functions/',
                { 'Fn::GetAtt': [only(dev, 'AWS::Lambda::Function', 'Router').id, 'Arn'] },
                '/response-streaming-invocations',
              ]),
            ],
          },
        },
      },
    };
    expect(ids(dev, 'AWS::ApiGateway::Method', streamed)).toHaveLength(2);
    // The others are of the admin function: its API, and the console's page, files and API.
    dev.resourceCountIs('AWS::ApiGateway::Method', 8);
    dev.hasResourceProperties('AWS::ApiGateway::Resource', { PathPart: '{proxy+}' });
  });
});

describe('the tables', () => {
  const tables = (template: Template) =>
    Object.values(template.findResources('AWS::DynamoDB::GlobalTable'));

  test('the seven tables are on demand, each with one partition key, two with a sort key', () => {
    const type = 'AWS::DynamoDB::GlobalTable';
    const hash = { AttributeName: PARTITION_KEY, KeyType: 'HASH' };
    const range = { AttributeName: SORT_KEY, KeyType: 'RANGE' };
    dev.allResourcesProperties(type, { BillingMode: 'PAY_PER_REQUEST' });
    dev.resourceCountIs(type, 7);
    dev.resourcePropertiesCountIs(type, { KeySchema: [hash] }, 5);
    dev.resourcePropertiesCountIs(type, { KeySchema: [hash, range] }, 2);
  });

  test('only meters, records, history and answers have a time to live', () => {
    const expiring = { TimeToLiveSpecification: { AttributeName: TTL_ATTRIBUTE, Enabled: true } };
    const found = ids(dev, 'AWS::DynamoDB::GlobalTable', { Properties: expiring });
    expect(found.toSorted()).toEqual([
      expect.stringContaining('Answers'),
      expect.stringContaining('History'),
      expect.stringContaining('Meters'),
      expect.stringContaining('Records'),
    ]);
  });

  test('the tables are retained after the stack in prod, all but the answers, and deleted with it in dev', () => {
    const policies = tables(prod).map((table) => table.DeletionPolicy);
    expect(policies.toSorted()).toEqual(['Delete', ...Array(6).fill('RetainExceptOnCreate')]);
    expect(tables(dev).map((table) => table.DeletionPolicy)).toEqual(Array(7).fill('Delete'));
  });

  test('in prod all tables but the answers are protected from deletion, and all but meters and records restorable', () => {
    const restorable = {
      DeletionProtectionEnabled: true,
      PointInTimeRecoverySpecification: { PointInTimeRecoveryEnabled: true },
    };
    const replicas = (replica: unknown) => ({ Properties: { Replicas: [replica] } });
    const type = 'AWS::DynamoDB::GlobalTable';
    expect(ids(prod, type, replicas({ DeletionProtectionEnabled: true }))).toHaveLength(6);
    expect(ids(prod, type, replicas(restorable))).toEqual([
      expect.stringContaining('Keys'),
      expect.stringContaining('Plans'),
      expect.stringContaining('Projects'),
      expect.stringContaining('History'),
    ]);
    expect(ids(dev, type, replicas({ DeletionProtectionEnabled: true }))).toEqual([]);
  });
});

describe('the upstream secret', () => {
  const value = (template: Template) =>
    only(template, 'AWS::SecretsManager::Secret').properties.GenerateSecretString;

  test('the output UpstreamSecretFields lists the credentials that the catalog uses', () => {
    dev.hasOutput('UpstreamSecretFields', { Value: 'aurora, borealis' });
  });

  test('the value template of the secret does not depend on the catalog, so the value is kept', () => {
    const fewer = synthTemplate({}, { models: models.slice(0, 1) });
    expect(value(fewer)).toEqual(value(dev));
    expect(value(dev)).toBeDefined();
  });

  test('the secret is retained when a prod stack is deleted', () => {
    prod.hasResource('AWS::SecretsManager::Secret', {
      DeletionPolicy: 'RetainExceptOnCreate',
      UpdateReplacePolicy: 'Retain',
    });
    dev.hasResource('AWS::SecretsManager::Secret', { DeletionPolicy: 'Delete' });
  });
});

describe('the stack', () => {
  test('the stack has exactly these outputs', () => {
    expect(Object.keys(dev.findOutputs('*')).sort()).toEqual([
      'AdminLogGroup',
      'AnswersBucket',
      'AnswersTable',
      'ConsoleUrl',
      'ConsoleUsers',
      'DashboardUrl',
      'FunctionUrl',
      'HistoryTable',
      'KeysTable',
      'MetersTable',
      'PlansTable',
      'ProjectsTable',
      'RecordsTable',
      'RestApiUrl',
      'RouterFunctionName',
      'RouterLogGroup',
      'UpstreamSecretFields',
      'UpstreamSecretName',
    ]);
  });

  test('the URLs in the outputs have no trailing slash', () => {
    const [url] = ids(dev, 'AWS::Lambda::Url');
    const [stage] = ids(dev, 'AWS::ApiGateway::Stage');
    const parts = { 'Fn::Split': ['/', { 'Fn::GetAtt': [url, 'FunctionUrl'] }] };
    dev.hasOutput('FunctionUrl', {
      Value: { 'Fn::Join': ['', ['https://', { 'Fn::Select': [2, parts] }]] },
    });
    dev.hasOutput('RestApiUrl', {
      Value: { 'Fn::Join': ['', Match.arrayWith(['/', { Ref: stage }])] },
    });
    const { Value } = dev.findOutputs('RestApiUrl').RestApiUrl as { Value: Props };
    expect(JSON.stringify(Value)).toMatch(new RegExp(`"Ref":"${stage}"}]]}$`));
  });

  test("DashboardUrl links the stage's dashboard, as the alarms do", () => {
    const { Value } = dev.findOutputs('DashboardUrl').DashboardUrl as { Value: Props };
    const [alarm] = Object.values(dev.findResources('AWS::CloudWatch::Alarm'));
    expect(JSON.stringify(Value)).toContain('#dashboards/dashboard/Router');
    const parts = JSON.stringify(alarm?.Properties.AlarmDescription);
    expect(parts).toContain('#dashboards/dashboard/Router');
    dev.hasResourceProperties('AWS::CloudWatch::Dashboard', { DashboardName: 'Router' });
  });

  test('a prod stack has termination protection, a dev stack has none', () => {
    expect(synthStack({ stage: 'prod' }).terminationProtection).toBe(true);
    expect(synthStack().terminationProtection).toBe(false);
  });

  test('synth warns of a catalog with hosts below .example', () => {
    const warning = Match.stringLikeRegexp(
      'chat\\.upstream\\.example, messages\\.upstream\\.example',
    );
    const stack = synthStack({}, { models: exampleModels });
    Annotations.fromStack(stack).hasWarning('*', warning);
  });

  test('synth has no warning for a catalog without example hosts', () => {
    Annotations.fromStack(synthStack()).hasNoWarning('*', Match.anyValue());
  });

  test('an unknown stage is rejected by name', () => {
    expect(() => synthStack({ stage: 'production' })).toThrow(
      /Invalid stage options[\s\S]*at stage/,
    );
    expect(() => synthStack({ reservedConcurrency: 'many' })).toThrow(/at reservedConcurrency/);
  });
});

describe('the metric budget at synth', () => {
  const five = ['a', 'b', 'c', 'd', 'e'].flatMap((id) =>
    models.slice(0, 1).map((model) => ({ ...model, id: `vendor/${id}` })),
  );

  test('synth prints the number of metric series and their monthly price', () => {
    Annotations.fromStack(synthStack()).hasInfo(
      '*',
      Match.stringLikeRegexp(
        'Metric series: 69 of at most 80 \\(maxSeries\\), \\$20\\.70 a month\\.',
      ),
    );
  });

  test('synth warns of the models that maxSeries folds into "other", by name', () => {
    const stack = synthStack({ maxSeries: '50' }, { models: five });
    Annotations.fromStack(stack).hasWarning('*', Match.stringLikeRegexp('maxSeries=50.*vendor/e'));
    const enough = synthStack({ maxSeries: '100' }, { models: five });
    Annotations.fromStack(enough).hasNoWarning('*', Match.stringLikeRegexp('maxSeries'));
  });

  test('synth warns of a dashboard with more metrics than CloudWatch shows, and not of one that fits', () => {
    const many = Array.from({ length: 150 }, (_, index) =>
      models.slice(0, 1).map((model) => ({ ...model, id: `vendor/${index}` })),
    ).flat();
    const warning = Match.stringLikeRegexp('The dashboard would have \\d+ metrics, \\d+ of them');
    const wide = synthStack({ maxSeries: '5000' }, { models: many });
    Annotations.fromStack(wide).hasWarning('*', warning);
    Annotations.fromStack(synthStack({}, { models: many })).hasNoWarning('*', warning);
  });

  test('synth rejects a maxSeries below the series that every catalog has', () => {
    const tooSmall =
      /maxSeries=20 is too small: with every model counted as "other" there are \d+ series/;
    expect(() => synthStack({ maxSeries: '20' }, { models: five })).toThrow(tooSmall);
  });

  test('the function gets maxSeries as MAX_SERIES', () => {
    synthTemplate({ maxSeries: '77' }).hasResourceProperties('AWS::Lambda::Function', {
      Environment: { Variables: { STAGE: 'dev', MAX_SERIES: '77' } },
    });
  });
});
