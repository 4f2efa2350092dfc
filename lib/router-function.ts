import { Duration, RemovalPolicy } from 'aws-cdk-lib';
import { Role, ServicePrincipal } from 'aws-cdk-lib/aws-iam';
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
import type { RouterEnv } from '../lambdas/env.ts';
import { acknowledgeFunction } from './acknowledge.ts';
import type { Stage } from './stage.ts';
import { grantOn, type Tables } from './tables.ts';
import type { UpstreamSecrets } from './upstream-secrets.ts';

export type RouterFunctionProps = {
  stage: Stage;
  code: Code;
  tables: Tables;
  upstreamSecrets: UpstreamSecrets;
};

/**
 * Waiting for upstreams is the bill, and it grows with memory; below 512 MB a 6 MB body, held three
 * times, and the CPU share at start get tight.
 */
export const ROUTER_MEMORY_MB = 512;

/** The one data-plane function, with its log group and a role that holds exactly what it calls. */
export class RouterFunction extends Construct {
  readonly function: LambdaFunction;
  readonly role: Role;
  readonly environment: RouterEnv;
  readonly logGroup: LogGroup;

  constructor(scope: Construct, id: string, props: RouterFunctionProps) {
    super(scope, id);
    const { stage, code, tables, upstreamSecrets } = props;
    this.logGroup = new LogGroup(this, 'Logs', {
      retention: stage.logRetention,
      removalPolicy: stage.protectData ? RemovalPolicy.RETAIN : RemovalPolicy.DESTROY,
    });
    // A role of its own: the default one brings a managed policy that may write to every log group.
    this.role = new Role(this, 'Role', {
      assumedBy: new ServicePrincipal('lambda.amazonaws.com'),
    });
    this.logGroup.grantWrite(this.role);
    grantOn(tables.keys, this.role, 'dynamodb:GetItem');
    grantOn(tables.plans, this.role, 'dynamodb:GetItem');
    grantOn(tables.meters, this.role, 'dynamodb:GetItem', 'dynamodb:UpdateItem');
    upstreamSecrets.grantValue(this.role);

    this.environment = {
      STAGE: stage.name,
      KEYS_TABLE: tables.keys.tableName,
      PLANS_TABLE: tables.plans.tableName,
      METERS_TABLE: tables.meters.tableName,
      UPSTREAM_SECRET: upstreamSecrets.secret.secretArn,
    };

    this.function = new LambdaFunction(this, 'Function', {
      description: `Model router (${stage.name}): chat completions, messages, models, token counts`,
      code,
      handler: 'index.handler',
      runtime: Runtime.NODEJS_24_X,
      // A fifth cheaper per GB-second than x86.
      architecture: Architecture.ARM_64,
      memorySize: ROUTER_MEMORY_MB,
      // The platform's most. Deadlines inside end every answer 15 s earlier.
      timeout: Duration.minutes(15),
      role: this.role,
      logGroup: this.logGroup,
      loggingFormat: LoggingFormat.JSON,
      applicationLogLevelV2: ApplicationLogLevel.INFO,
      // Drops the START, END and REPORT lines: the router logs one line a request itself.
      systemLogLevelV2: SystemLogLevel.WARN,
      environment: this.environment,
      ...(stage.reservedConcurrency === undefined
        ? {}
        : { reservedConcurrentExecutions: stage.reservedConcurrency }),
    });
    acknowledgeFunction(this.function);
  }
}
