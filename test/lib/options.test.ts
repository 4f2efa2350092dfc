import { Match, type Template } from 'aws-cdk-lib/assertions';
import { describe, expect, test } from 'vitest';
import * as z from 'zod';
import { synthTemplate } from './synth.ts';

const SECRET = 'arn:aws:secretsmanager:eu-west-1:123456789012:secret:upstreams-a1B2c3';
const KEY = 'arn:aws:kms:eu-west-1:123456789012:key/1234abcd-12ab-34cd-56ef-1234567890ab';
const TABLE = 'AWS::DynamoDB::GlobalTable';

const policiesOf = (template: Template): string =>
  JSON.stringify(template.findResources('AWS::IAM::Policy'));

const Variables = z.object({
  Environment: z.object({ Variables: z.record(z.string(), z.unknown()) }),
});
const environmentOf = (template: Template) => {
  const [router] = Object.entries(template.findResources('AWS::Lambda::Function')).flatMap(
    ([id, { Properties }]) => (id.startsWith('Router') ? [Properties] : []),
  );
  return Variables.parse(router).Environment.Variables;
};

describe('the options of existing data', () => {
  const restored = synthTemplate({
    stage: 'prod',
    keysTable: 'keys-restored',
    plansTable: 'plans-restored',
    projectsTable: 'projects-restored',
    metersTable: 'meters-restored',
    recordsTable: 'records-restored',
    historyTable: 'history-restored',
    upstreamSecret: SECRET,
    replayHours: 0,
  });

  test('the stack creates no table and no secret if seven existing ones are given', () => {
    restored.resourceCountIs(TABLE, 0);
    restored.resourceCountIs('AWS::SecretsManager::Secret', 0);
  });

  test('functions and outputs name the existing tables and secret', () => {
    expect(environmentOf(restored)).toMatchObject({
      KEYS_TABLE: 'keys-restored',
      PLANS_TABLE: 'plans-restored',
      METERS_TABLE: 'meters-restored',
      RECORDS_TABLE: 'records-restored',
      HISTORY_TABLE: 'history-restored',
      UPSTREAM_SECRET: SECRET,
    });
    restored.hasOutput('KeysTable', { Value: 'keys-restored' });
    restored.hasOutput('UpstreamSecretName', { Value: 'upstreams' });
  });

  test('the roles may use the existing tables, their index and the secret, and nothing wider', () => {
    const policies = policiesOf(restored);
    for (const name of ['keys', 'plans', 'projects', 'meters', 'records']) {
      expect(policies).toContain(`:table/${name}-restored"`);
    }
    expect(policies).toContain(':table/keys-restored/index/');
    expect(policies).toContain(SECRET);
    expect(policies).not.toContain('/*');
  });

  test('one restored table leaves the others as they are', () => {
    const one = synthTemplate({ keysTable: 'keys-restored', replayHours: 0 });
    expect(Object.keys(one.findResources(TABLE)).toSorted()).toEqual([
      'TablesHistory40CCE7D9',
      'TablesMetersB1C8DA8D',
      'TablesPlans2B9D66DA',
      'TablesProjectsD51E92A2',
      'TablesRecords353FBC94',
    ]);
  });

  test.each([
    ['keysTable', 'arn:aws:dynamodb:eu-west-1:123456789012:table/keys'],
    ['metersTable', ''],
    ['upstreamSecret', 'upstreams'],
    ['upstreamSecret', SECRET.slice(0, -7)],
    ['userPool', 'users'],
    ['kmsKey', 'alias/router'],
  ])('%s=%s is rejected by its name', (name, value) => {
    expect(() => synthTemplate({ [name]: value })).toThrow(new RegExp(`at ${name}`));
  });
});

test('in prod tables, secret and log groups are kept on update and delete, not on a failed create', () => {
  const prod = synthTemplate({ stage: 'prod', replayHours: 0 });
  for (const type of [TABLE, 'AWS::SecretsManager::Secret', 'AWS::Logs::LogGroup']) {
    prod.allResources(type, {
      DeletionPolicy: 'RetainExceptOnCreate',
      UpdateReplacePolicy: 'Retain',
    });
  }
});

describe('functionUrl', () => {
  test('functionUrl=off leaves out the Function URL, its permissions and its output', () => {
    const closed = synthTemplate({ functionUrl: 'off' });
    closed.resourceCountIs('AWS::Lambda::Url', 0);
    closed.resourceCountIs('AWS::WAFv2::WebACL', 0);
    closed.resourceCountIs('AWS::ApiGateway::RestApi', 1);
    expect(
      closed.findResources('AWS::Lambda::Permission', { Properties: { Principal: '*' } }),
    ).toEqual({});
    expect(closed.findOutputs('FunctionUrl')).toEqual({});
  });

  test('functionUrl=no is rejected by its name', () => {
    expect(() => synthTemplate({ functionUrl: 'no' })).toThrow(/at functionUrl/);
  });
});

describe('countTokens', () => {
  test.each([
    [{}, 'estimate'],
    [{ countTokens: 'provider' }, 'provider'],
  ])('the context %j sets COUNT_TOKENS of the router to %s', (context, value) => {
    synthTemplate(context).hasResourceProperties('AWS::Lambda::Function', {
      Environment: { Variables: Match.objectLike({ COUNT_TOKENS: value }) },
    });
  });
});

describe('traceparent', () => {
  test.each([
    [{}, 'keep'],
    [{ traceparent: 'pass' }, 'pass'],
  ])('the context %j sets TRACEPARENT of the router to %s', (context, value) => {
    synthTemplate(context).hasResourceProperties('AWS::Lambda::Function', {
      Environment: { Variables: Match.objectLike({ TRACEPARENT: value }) },
    });
  });
});

describe('memory and throttling', () => {
  test('memory sets the memory of the router function and of the cost graphs', () => {
    const large = synthTemplate({ memory: '1024' });
    large.hasResourceProperties('AWS::Lambda::Function', {
      MemorySize: 1024,
      Environment: { Variables: Match.objectLike({ STAGE: 'dev' }) },
    });
    const [dashboard] = Object.values(large.findResources('AWS::CloudWatch::Dashboard'));
    expect(JSON.stringify(dashboard)).toContain('duration/1000*1');
  });

  test.each([
    [{ restRate: '50' }, 50, 100],
    [{ restRate: '50', restBurst: '60' }, 50, 60],
  ])(
    '%o limits the REST API to %d requests per second and bursts of %d',
    (options, rate, burst) => {
      synthTemplate({ ...options }).hasResourceProperties('AWS::ApiGateway::Stage', {
        MethodSettings: [
          Match.objectLike({ ThrottlingRateLimit: rate, ThrottlingBurstLimit: burst }),
        ],
      });
    },
  );

  test.each([
    ['memory', '64'],
    ['memory', ''],
    ['restRate', '0'],
    ['restBurst', '10'],
  ])('%s=%s is rejected by its name', (name, value) => {
    expect(() => synthTemplate({ [name]: value })).toThrow(new RegExp(`at ${name}`));
  });
});

describe('kmsKey', () => {
  const encrypted = synthTemplate({ kmsKey: KEY });

  test('kmsKey encrypts every table and the secret', () => {
    encrypted.allResourcesProperties(TABLE, {
      SSESpecification: { SSEEnabled: true, SSEType: 'KMS' },
      Replicas: [Match.objectLike({ SSESpecification: { KMSMasterKeyId: KEY } })],
    });
    encrypted.hasResourceProperties('AWS::SecretsManager::Secret', { KmsKeyId: KEY });
  });

  test('both roles may use the key through DynamoDB and Secrets Manager only', () => {
    const statement = Match.objectLike({
      Action: Match.arrayWith(['kms:Decrypt']),
      Resource: KEY,
      Condition: { StringEquals: { 'kms:ViaService': Match.anyValue() } },
    });
    const policies = encrypted.findResources('AWS::IAM::Policy', {
      Properties: { PolicyDocument: { Statement: Match.arrayWith([statement]) } },
    });
    expect(Object.keys(policies)).toHaveLength(2);
    expect(policiesOf(synthTemplate())).not.toContain('kms:');
  });
});

describe('tags', () => {
  test.each([
    ['the text of the CLI', 'team=ai, cost-center=7'],
    ['an object in cdk.json', { team: 'ai', 'cost-center': '7' }],
  ])('tags from %s are on functions, tables and the secret', (_, tags) => {
    const tagged = synthTemplate({ tags });
    const expected = Match.arrayWith([
      { Key: 'cost-center', Value: '7' },
      { Key: 'team', Value: 'ai' },
    ]);
    tagged.allResourcesProperties('AWS::Lambda::Function', { Tags: expected });
    tagged.hasResourceProperties('AWS::SecretsManager::Secret', { Tags: expected });
    tagged.allResourcesProperties(TABLE, { Replicas: [Match.objectLike({ Tags: expected })] });
  });

  test.each(['team', 'team=', '=ai', 'aws:team=ai', 'team=a,', ''])(
    'tags=%s is rejected by its name',
    (tags) => {
      expect(() => synthTemplate({ tags })).toThrow(/at tags/);
    },
  );
});

describe('corsOrigins', () => {
  test('corsOrigins reaches the router as a list; by default it is empty', () => {
    const origins = 'https://app.example, http://localhost:5173';
    expect(environmentOf(synthTemplate({ corsOrigins: origins })).CORS_ORIGINS).toBe(
      'https://app.example http://localhost:5173',
    );
    expect(environmentOf(synthTemplate()).CORS_ORIGINS).toBe('');
  });

  test.each(['*', 'https://app.example/', 'app.example', 'https://app.example/path', 'null', ''])(
    'corsOrigins=%s is rejected by its name',
    (corsOrigins) => {
      expect(() => synthTemplate({ corsOrigins })).toThrow(/at corsOrigins/);
    },
  );
});
