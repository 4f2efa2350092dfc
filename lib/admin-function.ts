import { Duration, RemovalPolicy } from 'aws-cdk-lib';
import { type IGrantable, Role, ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import {
  ApplicationLogLevel,
  Architecture,
  type Code,
  Function as LambdaFunction,
  LoggingFormat,
  Runtime,
  SystemLogLevel,
} from 'aws-cdk-lib/aws-lambda';
import { LogGroup } from 'aws-cdk-lib/aws-logs';
import { Construct } from 'constructs';
import type { AdminEnv } from '../lambdas/env.ts';
import { acknowledgeFunction } from './acknowledge.ts';
import type { Stage } from './stage.ts';
import { grantKeysByProject, grantOn, type Tables } from './tables.ts';

export type AdminFunctionProps = { stage: Stage; code: Code; tables: Tables };

/** Creates and ends keys, which the router may only read: hence a function and a role of its own. */
export class AdminFunction extends Construct {
  readonly function: LambdaFunction;
  readonly logGroup: LogGroup;

  constructor(scope: Construct, id: string, { stage, code, tables }: AdminFunctionProps) {
    super(scope, id);
    this.logGroup = new LogGroup(this, 'Logs', {
      retention: stage.logRetention,
      removalPolicy: stage.protectData ? RemovalPolicy.RETAIN : RemovalPolicy.DESTROY,
    });
    const role = new Role(this, 'Role', {
      assumedBy: new ServicePrincipal('lambda.amazonaws.com'),
    });
    this.logGroup.grantWrite(role);
    grantTables(tables, role);

    this.function = new LambdaFunction(this, 'Function', {
      description: `Model router (${stage.name}): projects, plans, keys, usage`,
      code,
      handler: 'index.handler',
      runtime: Runtime.NODEJS_24_X,
      architecture: Architecture.ARM_64,
      // A person waits for it: half of this takes twice as long to start.
      memorySize: 512,
      // The REST API waits 29 s; a list of a few hundred keys takes one.
      timeout: Duration.seconds(28),
      role,
      logGroup: this.logGroup,
      loggingFormat: LoggingFormat.JSON,
      applicationLogLevelV2: ApplicationLogLevel.INFO,
      systemLogLevelV2: SystemLogLevel.WARN,
      environment: {
        KEYS_TABLE: tables.keys.tableName,
        PLANS_TABLE: tables.plans.tableName,
        PROJECTS_TABLE: tables.projects.tableName,
        METERS_TABLE: tables.meters.tableName,
      } satisfies AdminEnv,
    });
    acknowledgeFunction(this.function);
  }
}

/** Every write of the stores is a conditional UpdateItem; nothing here deletes. */
const grantTables = (tables: Tables, role: IGrantable): void => {
  for (const table of [tables.plans, tables.projects]) {
    grantOn(table, role, 'dynamodb:GetItem', 'dynamodb:Scan', 'dynamodb:UpdateItem');
  }
  for (const table of [tables.keys, tables.meters]) {
    grantOn(table, role, 'dynamodb:GetItem', 'dynamodb:UpdateItem');
  }
  grantKeysByProject(tables, role);
};
