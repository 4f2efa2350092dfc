import { Duration } from 'aws-cdk-lib';
import { Rule, RuleTargetInput, Schedule } from 'aws-cdk-lib/aws-events';
import { LambdaFunction as LambdaTarget } from 'aws-cdk-lib/aws-events-targets';
import type { IGrantable } from 'aws-cdk-lib/aws-iam';
import type { Function as LambdaFunction } from 'aws-cdk-lib/aws-lambda';
import type { LogGroup } from 'aws-cdk-lib/aws-logs';
import { Construct } from 'constructs';
import type { AdminEnv } from '../lambdas/env.ts';
import { acknowledge } from './acknowledge.ts';
import { grantBedrock } from './bedrock-access.ts';
import { CONSOLE_FILES } from './bundle/bundle.ts';
import type { Console } from './console.ts';
import { STREAMED_FOLDER } from './console-files.ts';
import { createFunction } from './function-parts.ts';
import type { FunctionProps } from './function-props.ts';
import type { Stage } from './stage.ts';
import { grantKeysByProject, grantOn, type Tables, tableEnv } from './tables.ts';

type Props = FunctionProps & {
  /** @default no console */
  console?: Console | undefined;
  /** Base address for callers, shown by the console. @default the REST API */
  callerUrl?: string | undefined;
};

/**
 * The admin function: projects, plans, keys, usage and the schedule of the history. It is separate from the router because its
 * role writes keys and plans, which the router may only read.
 */
export class AdminFunction extends Construct {
  readonly function: LambdaFunction;
  readonly logGroup: LogGroup;

  constructor(scope: Construct, id: string, props: Props) {
    super(scope, id);
    const { stage, models, code, tables, upstreamSecrets } = props;
    const { role, ...created } = createFunction(this, stage, {
      does: 'projects, plans, keys, usage',
      code,
      // Interactive use: half the memory doubles the cold start.
      memorySize: 512,
      // For the history: it reads a day's records of every project. The REST API responds within 29 s.
      timeout: Duration.minutes(15),
      concurrency: stage.adminConcurrency,
      environment: {
        STAGE: stage.name,
        STATE: stage.state,
        ...tableEnv(tables),
        PROJECTS_TABLE: tables.projects.tableName,
        UPSTREAM_SECRET: upstreamSecrets.secret.secretArn,
        ...(props.console && consoleEnv(props.console, stage, props.callerUrl)),
      } satisfies AdminEnv,
    });
    this.function = created.function;
    this.logGroup = created.logGroup;
    grantTables(tables, role);
    // The doctor calls each target with its credential, or as the role.
    upstreamSecrets.grantValue(role);
    grantBedrock(role, models);
    props.console?.userPool.grant(role, ...MEMBER_ACTIONS);
    const { historyMinutes } = stage;
    const schedule = new Rule(this, 'History', {
      description: `Model router (${stage.name}): brings the history of usage up to date`,
      // After the 20 minutes in which requests of the last hour may still be settled.
      schedule: Schedule.cron({
        minute: historyMinutes === 60 ? '25' : `${25 % historyMinutes}/${historyMinutes}`,
      }),
      targets: [
        new LambdaTarget(this.function, {
          event: RuleTargetInput.fromObject({ job: 'history' }),
          retryAttempts: 2,
        }),
      ],
    });
    acknowledge(schedule, {
      'Serverless-EventBusDLQ':
        'A lost event needs no queue: the next run brings the same days up to date.',
    });
  }
}

/** What the operations of members call. */
const MEMBER_ACTIONS = [
  'AdminAddUserToGroup',
  'AdminCreateUser',
  'AdminDeleteUser',
  'AdminGetUser',
  'AdminListGroupsForUser',
  'AdminRemoveUserFromGroup',
  'CreateGroup',
  'ListUsers',
  'ListUsersInGroup',
].map((operation) => `cognito-idp:${operation}`);

const consoleEnv = (
  { domainName, client, userPool }: Console,
  { runbookUrl }: Stage,
  callerUrl: string | undefined,
) => ({
  CONSOLE_FILES,
  CONSOLE_FOLDER: STREAMED_FOLDER,
  SIGN_IN_DOMAIN: domainName,
  SIGN_IN_CLIENT: client.userPoolClientId,
  USER_POOL: userPool.userPoolId,
  RUNBOOK_URL: runbookUrl,
  ...(callerUrl !== undefined && { CALLER_URL: callerUrl }),
});

/** Grants UpdateItem as the only write: the stores write conditionally and never delete. */
const grantTables = (tables: Tables, role: IGrantable): void => {
  for (const table of [tables.plans, tables.projects]) {
    grantOn(table, role, 'GetItem', 'Scan', 'UpdateItem');
  }
  for (const table of [tables.keys, tables.meters]) {
    grantOn(table, role, 'GetItem', 'UpdateItem');
  }
  grantOn(tables.records, role, 'GetItem', 'Query');
  grantOn(tables.history, role, 'GetItem', 'Query', 'UpdateItem');
  grantKeysByProject(tables, role);
};
