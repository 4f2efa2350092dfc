import { Duration } from 'aws-cdk-lib';
import type { IGrantable } from 'aws-cdk-lib/aws-iam';
import { type Code, Function as LambdaFunction } from 'aws-cdk-lib/aws-lambda';
import type { LogGroup } from 'aws-cdk-lib/aws-logs';
import { Construct } from 'constructs';
import type { AdminEnv } from '../lambdas/env.ts';
import { acknowledgeFunction } from './acknowledge.ts';
import { createLogsAndRole, FUNCTION_SHAPE } from './function-parts.ts';
import type { Stage } from './stage.ts';
import { grantKeysByProject, grantOn, type Tables } from './tables.ts';

export type AdminFunctionProps = { stage: Stage; code: Code; tables: Tables };

/** Creates and ends keys, which the router may only read: hence a function and a role of its own. */
export class AdminFunction extends Construct {
  readonly function: LambdaFunction;
  readonly logGroup: LogGroup;

  constructor(scope: Construct, id: string, { stage, code, tables }: AdminFunctionProps) {
    super(scope, id);
    const { logGroup, role } = createLogsAndRole(this, stage);
    this.logGroup = logGroup;
    grantTables(tables, role);

    this.function = new LambdaFunction(this, 'Function', {
      ...FUNCTION_SHAPE,
      description: `Model router (${stage.name}): projects, plans, keys, usage`,
      code,
      // A person waits for it: half of this takes twice as long to start.
      memorySize: 512,
      // The REST API waits 29 s; a list of a few hundred keys takes one.
      timeout: Duration.seconds(28),
      role,
      logGroup,
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
