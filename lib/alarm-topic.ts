import { RemovalPolicy, Stack } from 'aws-cdk-lib';
import { PolicyStatement, ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import { Key } from 'aws-cdk-lib/aws-kms';
import { Topic } from 'aws-cdk-lib/aws-sns';
import { EmailSubscription } from 'aws-cdk-lib/aws-sns-subscriptions';
import { Construct } from 'constructs';
import { acknowledge } from './acknowledge.ts';
import type { Stage } from './stage.ts';

/**
 * The topic that alarms publish to: encrypted, TLS only, with `stage.alarmEmail` subscribed if set.
 */
export class AlarmTopic extends Construct {
  readonly topic: Topic;

  constructor(scope: Construct, id: string, { stage }: { stage: Stage }) {
    super(scope, id);
    // A customer managed key: CloudWatch may not use the AWS managed key of SNS, and alarms that
    // cannot publish fail without an error.
    const masterKey = new Key(this, 'Key', {
      description: `Alarms of the model router (${stage.name})`,
      enableKeyRotation: true,
      removalPolicy: RemovalPolicy.DESTROY,
    });
    const cloudWatch = new ServicePrincipal('cloudwatch.amazonaws.com');
    masterKey.grant(cloudWatch, 'kms:Decrypt', 'kms:GenerateDataKey*');
    this.topic = new Topic(this, 'Topic', { masterKey, enforceSSL: true });
    // `enforceSSL` replaces the default topic policy, which allowed alarms to publish. The
    // condition limits the service principal to alarms of this account.
    this.topic.addToResourcePolicy(
      new PolicyStatement({
        principals: [cloudWatch],
        actions: ['sns:Publish'],
        resources: [this.topic.topicArn],
        conditions: { StringEquals: { 'aws:SourceAccount': Stack.of(this).account } },
      }),
    );
    if (stage.alarmEmail !== undefined) {
      const subscription = this.topic.addSubscription(new EmailSubscription(stage.alarmEmail));
      acknowledge(subscription, {
        'Serverless-SNSRedrivePolicy':
          'E-mail needs no redrive queue: the alarm stays in ALARM and is visible in the console.',
      });
    }
  }
}
