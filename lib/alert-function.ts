import { Duration } from 'aws-cdk-lib';
import { Grant } from 'aws-cdk-lib/aws-iam';
import { SqsEventSource } from 'aws-cdk-lib/aws-lambda-event-sources';
import { FilterPattern, type LogGroup, SubscriptionFilter } from 'aws-cdk-lib/aws-logs';
import { LambdaDestination } from 'aws-cdk-lib/aws-logs-destinations';
import { SubscriptionFilter as Filter, FilterOrPolicy, type Topic } from 'aws-cdk-lib/aws-sns';
import { LambdaSubscription } from 'aws-cdk-lib/aws-sns-subscriptions';
import { Queue } from 'aws-cdk-lib/aws-sqs';
import { Construct } from 'constructs';
import type { AlertsEnv } from '../lambdas/env.ts';
import { ALERT_EVENTS } from '../lambdas/log-events.ts';
import { acknowledge } from './acknowledge.ts';
import { createFunction } from './function-parts.ts';
import type { FunctionProps } from './function-props.ts';
import { grantOn } from './tables.ts';

type Props = Omit<FunctionProps, 'models'> & {
  /** That of the alarms. */
  topic: Topic;
  /** Those whose lines may be alerts. */
  logGroups: Record<string, LogGroup>;
};

/** Three calls of a receiver that says nothing, and the pauses between them. */
const TIMEOUT = Duration.seconds(30);

const PATTERN = `{ ${ALERT_EVENTS.map((event) => `($.event = "${event}")`).join(' || ')} }`;

/**
 * Sends alarms, and lines of the log that concern people, to the receivers of the stage. A queue keeps what a receiver does not
 * take for four days, in order.
 */
export const addAlertFunction = (
  parent: Construct,
  { stage, code, tables, upstreamSecrets, topic, logGroups }: Props,
): void => {
  const scope = new Construct(parent, 'Alerts');
  const queue = new Queue(scope, 'Queue', {
    ...{ fifo: true, enforceSSL: true },
    // AWS's advice: six times the limit of the function.
    visibilityTimeout: Duration.minutes(3),
  });
  acknowledge(queue, {
    'AwsSolutions-SQS3': 'A receiver that is away for four days has missed what it should get.',
    'Serverless-SQSRedrivePolicy': 'The same.',
  });
  const { role, function: target } = createFunction(scope, stage, {
    does: 'alerts to people',
    code,
    memorySize: 256,
    timeout: TIMEOUT,
    environment: {
      FORMS: stage.alertForms.join(' '),
      ...(stage.alertWebhook !== undefined && { WEBHOOK_URL: stage.alertWebhook }),
      TOPIC: topic.topicArn,
      QUEUE_URL: queue.queueUrl,
      HISTORY_TABLE: tables.history.tableName,
      RUNBOOK_URL: stage.runbookUrl,
      UPSTREAM_SECRET: upstreamSecrets.secret.secretArn,
    } satisfies AlertsEnv,
  });
  queue.grantSendMessages(role);
  const publish = { grantee: role, actions: ['sns:Publish'], resourceArns: [topic.topicArn] };
  Grant.addToPrincipal(publish);
  topic.masterKey?.grant(role, 'kms:Decrypt', 'kms:GenerateDataKey');
  upstreamSecrets.grantValue(role);
  grantOn(tables.history, role, 'UpdateItem');
  acknowledge(target, {
    'Serverless-LambdaEventSourceMappingDestination': 'What fails stays in the queue.',
    'Serverless-SNSRedrivePolicy':
      'Lambda takes every notification; the alarm stays in ALARM and is visible in the console.',
  });
  target.addEventSource(new SqsEventSource(queue, { batchSize: 1 }));
  topic.addSubscription(
    new LambdaSubscription(target, {
      // Not what the function publishes for e-mail.
      filterPolicyWithMessageBody: { AlarmName: FilterOrPolicy.filter(Filter.existsFilter()) },
    }),
  );
  const destination = new LambdaDestination(target);
  for (const [name, lines] of Object.entries(logGroups)) {
    const filterPattern = FilterPattern.literal(PATTERN);
    new SubscriptionFilter(scope, `${name}Lines`, { logGroup: lines, destination, filterPattern });
  }
};
