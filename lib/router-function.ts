import { Duration, Stack } from 'aws-cdk-lib';
import { Rule, RuleTargetInput, Schedule } from 'aws-cdk-lib/aws-events';
import { LambdaFunction as LambdaTarget } from 'aws-cdk-lib/aws-events-targets';
import { Grant, type Role } from 'aws-cdk-lib/aws-iam';
import type { Function as LambdaFunction } from 'aws-cdk-lib/aws-lambda';
import type { LogGroup } from 'aws-cdk-lib/aws-logs';
import { Construct } from 'constructs';
import type { RouterEnv } from '../lambdas/env.ts';
import { acknowledge } from './acknowledge.ts';
import type { AnswerBucket } from './answer-bucket.ts';
import { grantBedrock } from './bedrock-access.ts';
import { createFunction } from './function-parts.ts';
import type { FunctionProps } from './function-props.ts';
import type { Stage } from './stage.ts';
import { grantKeysByProject, grantOn, tableEnv } from './tables.ts';

type Props = FunctionProps & {
  /** Undefined if the stage keeps no responses. */
  answerBucket: AnswerBucket | undefined;
};

/** Grants the events of usage thresholds on the account's default bus. */
const grantEvents = (role: Role): void => {
  const eventBus = { service: 'events', resource: 'event-bus', resourceName: 'default' };
  Grant.addToPrincipal({
    grantee: role,
    actions: ['events:PutEvents'],
    resourceArns: [Stack.of(role).formatArn(eventBus)],
    conditions: { StringEquals: { 'events:source': 'model-router' } },
  });
};

/**
 * The data-plane function, with its log group and a role that allows exactly the calls it makes.
 */
export class RouterFunction extends Construct {
  readonly function: LambdaFunction;
  readonly role: Role;
  /** Environment variables, which the Web Function shares. */
  readonly environment: RouterEnv;
  readonly logGroup: LogGroup;

  constructor(scope: Construct, id: string, props: Props) {
    super(scope, id);
    const { stage, models, code, tables, answerBucket, upstreamSecrets } = props;
    this.environment = {
      STAGE: stage.name,
      MAX_SERIES: String(stage.maxSeries),
      ...tableEnv(tables),
      RECORD_DAYS: String(stage.recordDays),
      COUNT_TOKENS: stage.countTokens,
      TRACEPARENT: stage.passesTraceparent ? 'pass' : 'keep',
      WHO: stage.who,
      ...(tables.answers && {
        ANSWERS_TABLE: tables.answers.tableName,
        REPLAY_HOURS: String(stage.replayHours),
        STATE: stage.state,
        STATE_DAYS: String(stage.stateDays),
      }),
      ...(answerBucket && { ANSWERS_BUCKET: answerBucket.bucket.bucketName }),
      CORS_ORIGINS: stage.corsOrigins.join(' '),
      UPSTREAM_SECRET: upstreamSecrets.secret.secretArn,
    };

    const { role, ...created } = createFunction(this, stage, {
      does: 'chat completions, messages, models, token counts',
      code,
      // Most billed time is waiting for upstreams, and its price grows with memory. By default 256 MB, of which a body
      // of 4.5 MB leaves 90 free (bench/memory.ts).
      memorySize: stage.memoryMb,
      // Lambda's maximum. The router's deadline ends every response 15 s earlier.
      timeout: Duration.minutes(15),
      environment: this.environment,
      concurrency: stage.reservedConcurrency,
    });
    this.function = created.function;
    this.logGroup = created.logGroup;
    this.role = role;
    grantOn(tables.keys, role, 'GetItem');
    grantKeysByProject(tables, role);
    grantOn(tables.plans, role, 'GetItem');
    grantOn(tables.meters, role, 'GetItem', 'UpdateItem');
    grantOn(tables.records, role, 'GetItem', 'Query', 'UpdateItem');
    grantOn(tables.history, role, 'GetItem', 'Query');
    if (tables.answers) grantOn(tables.answers, role, 'GetItem', 'UpdateItem');
    answerBucket?.grantObjects(role);
    upstreamSecrets.grantValue(role);
    grantBedrock(role, models);
    grantEvents(role);
    if (tables.answers) repeatWebhooks(this, stage, this.function);
  }
}

/** Sends the webhooks of responses that their process or their receiver could not. */
const repeatWebhooks = (scope: Construct, { name }: Stage, target: LambdaFunction): void => {
  const schedule = new Rule(scope, 'Webhooks', {
    description: `Model router (${name}): repeats webhooks of background responses`,
    schedule: Schedule.rate(Duration.minutes(5)),
    targets: [new LambdaTarget(target, { event: RuleTargetInput.fromObject({ job: 'webhooks' }) })],
  });
  acknowledge(schedule, {
    'Serverless-EventBusDLQ': 'A lost event needs no queue: the next one repeats the same.',
  });
};
