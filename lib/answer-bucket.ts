import { Duration, RemovalPolicy } from 'aws-cdk-lib';
import { Grant, type IGrantable } from 'aws-cdk-lib/aws-iam';
import { Key } from 'aws-cdk-lib/aws-kms';
import { BlockPublicAccess, Bucket, BucketEncryption } from 'aws-cdk-lib/aws-s3';
import { Construct } from 'constructs';
import { acknowledge } from './acknowledge.ts';
import type { Stage } from './stage.ts';

/** What the names of responses that callers store begin with (stores/dynamo/response-store.ts). */
const STORED = 'responses/';

/** The bucket for kept responses above the size of a table's item; it empties itself. */
export class AnswerBucket extends Construct {
  readonly bucket: Bucket;

  constructor(scope: Construct, id: string, { stage }: { stage: Stage }) {
    super(scope, id);
    const { kmsKey, replayHours, stateDays } = stage;
    this.bucket = new Bucket(this, 'Bucket', {
      blockPublicAccess: BlockPublicAccess.BLOCK_ALL,
      enforceSSL: true,
      minimumTLSVersion: 1.2,
      ...(kmsKey === undefined
        ? { encryption: BucketEncryption.S3_MANAGED }
        : {
            encryption: BucketEncryption.KMS,
            encryptionKey: Key.fromKeyArn(this, 'Key', kmsKey),
            // One call of KMS for many objects.
            bucketKeyEnabled: true,
          }),
      // S3 counts whole days, from the midnight after: an object outlives its entry in the table.
      lifecycleRules: [
        { prefix: STORED, expiration: Duration.days(stateDays) },
        // Names of all others are hashes in hex.
        ...[...'0123456789abcdef'].map((prefix) => ({
          prefix,
          expiration: Duration.days(Math.ceil(replayHours / 24)),
        })),
      ],
      // CloudFormation deletes only empty buckets; this one is empty after the lifecycle's days.
      removalPolicy: RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE,
    });
    acknowledge(this.bucket, {
      'AwsSolutions-S1': 'One writer, whose own log names each response that is kept.',
    });
  }

  /** Grants reading and writing objects, and deleting those that callers store. Without `s3:ListBucket` S3 returns 403 for a missing object, not 404. */
  grantObjects(grantee: IGrantable & Construct): void {
    const { bucketArn } = this.bucket;
    const objects = `${bucketArn}/*`;
    Grant.addToPrincipal({
      grantee,
      actions: ['s3:GetObject', 's3:PutObject'],
      resourceArns: [objects],
    });
    Grant.addToPrincipal({
      grantee,
      actions: ['s3:DeleteObject'],
      resourceArns: [`${bucketArn}/${STORED}*`],
    });
    Grant.addToPrincipal({ grantee, actions: ['s3:ListBucket'], resourceArns: [bucketArn] });
    acknowledge(grantee, {
      'AwsSolutions-IAM5[Resource::<AnswerBucketE16737B3.Arn>/*]':
        'The objects of one bucket; their names are hashes of what callers send.',
      [`AwsSolutions-IAM5[Resource::<AnswerBucketE16737B3.Arn>/${STORED}*]`]:
        'The same, of what callers store and delete.',
    });
  }
}
