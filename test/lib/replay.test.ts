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

test('the bucket of large responses is private, encrypted with the stage key, and deletes objects after replayHours', () => {
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
      LifecycleConfiguration: { Rules: [{ ExpirationInDays: 2, Status: 'Enabled' }] },
    },
  });
  expect(JSON.stringify(bucketOf({}))).toContain('AES256');
});

test('the router may read, write and find objects of the bucket, and nothing else in S3', () => {
  const policies = JSON.stringify(synthTemplate().findResources('AWS::IAM::Policy'));
  const actions = [...policies.matchAll(/"s3:\w+\*?"/g)].map(([action]) => action);
  expect(actions).toEqual(['"s3:GetObject"', '"s3:PutObject"', '"s3:ListBucket"']);
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
