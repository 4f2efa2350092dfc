import { Match } from 'aws-cdk-lib/assertions';
import { expect, test } from 'vitest';
import { synthTemplate } from './synth.ts';

const KEY = 'arn:aws:kms:eu-west-1:123456789012:key/0f0e0d0c-0b0a-4908-8706-050403020100';
const TABLE = 'AWS::DynamoDB::GlobalTable';

const answersOf = (template: ReturnType<typeof synthTemplate>) =>
  Object.entries(template.findResources(TABLE)).find(([id]) => id.startsWith('TablesAnswers'))?.[1];

test('the answers table expires its items, is encrypted with the stage key, and is deleted with the stack', () => {
  const answers = answersOf(synthTemplate({ stage: 'prod', kmsKey: KEY }));
  expect(answers).toMatchObject({
    DeletionPolicy: 'Delete',
    Properties: {
      TimeToLiveSpecification: { AttributeName: 'expiresAtSeconds', Enabled: true },
      SSESpecification: { SSEEnabled: true, SSEType: 'KMS' },
      Replicas: [{ DeletionProtectionEnabled: false, SSESpecification: { KMSMasterKeyId: KEY } }],
    },
  });
});

test('the bucket of large responses is private, encrypted with the stage key, and deletes objects after replayHours, stored responses after stateDays', () => {
  const bucketOf = (options: Parameters<typeof synthTemplate>[0]) =>
    Object.values(synthTemplate(options).findResources('AWS::S3::Bucket'))[0];
  expect(bucketOf({ stage: 'prod', kmsKey: KEY, replayHours: 25 })).toMatchObject({
    DeletionPolicy: 'RetainExceptOnCreate',
    Properties: {
      PublicAccessBlockConfiguration: {
        BlockPublicAcls: true,
        BlockPublicPolicy: true,
        IgnorePublicAcls: true,
        RestrictPublicBuckets: true,
      },
      BucketEncryption: {
        ServerSideEncryptionConfiguration: [
          {
            BucketKeyEnabled: true,
            ServerSideEncryptionByDefault: { SSEAlgorithm: 'aws:kms', KMSMasterKeyID: KEY },
          },
        ],
      },
      LifecycleConfiguration: {
        Rules: [
          { ExpirationInDays: 30, Prefix: 'responses/', Status: 'Enabled' },
          ...[...'0123456789abcdef'].map((Prefix) => ({ ExpirationInDays: 2, Prefix })),
        ],
      },
    },
  });
  expect(JSON.stringify(bucketOf({}))).toContain('AES256');
});

test('the router may read, write and find objects of the bucket, delete stored responses, and nothing else in S3', () => {
  const policies = JSON.stringify(synthTemplate().findResources('AWS::IAM::Policy'));
  const actions = [...policies.matchAll(/"s3:\w+\*?"/g)].map(([action]) => action);
  expect(actions).toEqual([
    '"s3:GetObject"',
    '"s3:PutObject"',
    '"s3:DeleteObject"',
    '"s3:ListBucket"',
  ]);
});

test('only the router may read and write the answers table, and it cannot scan or delete', () => {
  const template = synthTemplate();
  const statements = Object.entries(template.findResources('AWS::IAM::Policy')).flatMap(
    ([id, { Properties }]) =>
      (Properties as { PolicyDocument: { Statement: object[] } }).PolicyDocument.Statement.filter(
        (statement) => JSON.stringify(statement).includes('TablesAnswers'),
      ).map((statement) => ({ id, statement })),
  );
  expect(statements).toEqual([
    {
      id: expect.stringMatching(/^Router/),
      statement: expect.objectContaining({ Action: ['dynamodb:GetItem', 'dynamodb:UpdateItem'] }),
    },
  ]);
});

test('state is off unless the stage says so, and needs the table of kept responses', () => {
  const variables = (options: Parameters<typeof synthTemplate>[0], values: object) =>
    synthTemplate(options).hasResourceProperties('AWS::Lambda::Function', {
      Environment: { Variables: values },
    });
  variables({}, { STATE: 'off', STATE_DAYS: '30' });
  variables({ state: 'default', stateDays: '7' }, { STATE: 'default', STATE_DAYS: '7' });
  expect(() => synthTemplate({ state: 'asked', replayHours: 0 })).toThrow(
    'must be off with replayHours=0',
  );
});

test('replayHours is passed to the router, and 0 leaves out the answers table and the bucket', () => {
  synthTemplate({ replayHours: '72' }).hasResourceProperties('AWS::Lambda::Function', {
    Environment: { Variables: { REPLAY_HOURS: '72', ANSWERS_TABLE: Match.anyValue() } },
  });
  const off = synthTemplate({ replayHours: 0 });
  expect(answersOf(off)).toBeUndefined();
  off.resourceCountIs('AWS::S3::Bucket', 0);
  expect(JSON.stringify(off.toJSON())).not.toContain('ANSWERS_BUCKET');
  expect(off.findOutputs('AnswersTable')).toEqual({});
  expect(JSON.stringify(off.toJSON())).not.toContain('ANSWERS_TABLE');
});
