import { RemovalPolicy, Stack } from 'aws-cdk-lib';
import { PolicyStatement, ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import { Key } from 'aws-cdk-lib/aws-kms';
import { Topic } from 'aws-cdk-lib/aws-sns';
import { EmailSubscription } from 'aws-cdk-lib/aws-sns-subscriptions';
import { Construct } from 'constructs';
import { acknowledge } from './acknowledge.ts';
import type { Stage } from './stage.ts';

export type AlarmTopicProps = { stage: Stage };

/** Where alarms are told: an encrypted topic that takes nothing unencrypted, and an e-mail if wanted. */
export class AlarmTopic extends Construct {
  readonly topic: Topic;

  constructor(scope: Construct, id: string, { stage }: AlarmTopicProps) {
    super(scope, id);
    // A key of its own: CloudWatch may not use the one that AWS manages for SNS, and says nothing.
    const masterKey = new Key(this, 'Key', {
      description: `Alarms of the model router (${stage.name})`,
      enableKeyRotation: true,
      removalPolicy: RemovalPolicy.DESTROY,
    });
    const cloudWatch = new ServicePrincipal('cloudwatch.amazonaws.com');
    masterKey.grant(cloudWatch, 'kms:Decrypt', 'kms:GenerateDataKey*');
    this.topic = new Topic(this, 'Topic', { masterKey, enforceSSL: true });
    // The policy that enforces TLS takes the place of the default one, which let alarms in. Only this
    // account's: the service speaks for every account's alarms.
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
        'Serverless-SNSRedrivePolicy': 'An e-mail is not retried from a queue; the alarm stays on.',
      });
    }
  }
}
