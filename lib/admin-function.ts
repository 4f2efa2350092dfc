import { Duration } from 'aws-cdk-lib';
import type { IGrantable } from 'aws-cdk-lib/aws-iam';
import { type Code, Function as LambdaFunction } from 'aws-cdk-lib/aws-lambda';
import type { LogGroup } from 'aws-cdk-lib/aws-logs';
import { Construct } from 'constructs';
import type { AdminEnv } from '../lambdas/env.ts';
import { acknowledgeFunction } from './acknowledge.ts';
import { createLogsAndRole, FUNCTION_SHAPE, grantKey } from './function-parts.ts';
import type { Stage } from './stage.ts';
import { grantKeysByProject, grantOn, type Tables } from './tables.ts';

export type AdminFunctionProps = {
  stage: Stage;
  /** The bundled admin function. */
  code: Code;
  tables: Tables;
};

/**
 * The admin function: projects, plans, keys and usage. It is separate from the router because its
 * role writes keys and plans, which the router may only read.
 */
export class AdminFunction extends Construct {
  readonly function: LambdaFunction;
  readonly logGroup: LogGroup;

  constructor(scope: Construct, id: string, { stage, code, tables }: AdminFunctionProps) {
    super(scope, id);
    const { logGroup, role } = createLogsAndRole(this, stage);
    this.logGroup = logGroup;
    grantTables(tables, role);
    grantKey(this, stage, role);

    this.function = new LambdaFunction(this, 'Function', {
      ...FUNCTION_SHAPE,
      description: `Model router (${stage.name}): projects, plans, keys, usage`,
      code,
      // Interactive use: half the memory doubles the cold start.
      memorySize: 512,
      // Below the REST API's 29 s. Listing a few hundred keys takes about 1 s.
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

/** Grants UpdateItem as the only write: the stores write conditionally and never delete. */
const grantTables = (tables: Tables, role: IGrantable): void => {
  for (const table of [tables.plans, tables.projects]) {
    grantOn(table, role, 'dynamodb:GetItem', 'dynamodb:Scan', 'dynamodb:UpdateItem');
  }
  for (const table of [tables.keys, tables.meters]) {
    grantOn(table, role, 'dynamodb:GetItem', 'dynamodb:UpdateItem');
  }
  grantKeysByProject(tables, role);
};
