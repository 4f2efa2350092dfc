import { RemovalPolicy } from 'aws-cdk-lib';
import { Role, ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import {
  ApplicationLogLevel,
  Architecture,
  LoggingFormat,
  Runtime,
  SystemLogLevel,
} from 'aws-cdk-lib/aws-lambda';
import { LogGroup } from 'aws-cdk-lib/aws-logs';
import type { Construct } from 'constructs';
import type { Stage } from './stage.ts';

/** How each of our functions runs. */
export const FUNCTION_SHAPE = {
  handler: 'index.handler',
  runtime: Runtime.NODEJS_24_X,
  // A fifth cheaper per GB-second than x86.
  architecture: Architecture.ARM_64,
  loggingFormat: LoggingFormat.JSON,
  applicationLogLevelV2: ApplicationLogLevel.INFO,
  // Drops the START, END and REPORT lines: a function logs one line a request itself.
  systemLogLevelV2: SystemLogLevel.WARN,
} as const;

/**
 * A function's own log group, and its own role, which so far may only write there: the default ones keep lines
 * for ever and may write to every log group.
 */
export const createLogsAndRole = (scope: Construct, stage: Stage) => {
  const logGroup = new LogGroup(scope, 'Logs', {
    retention: stage.logRetention,
    removalPolicy: stage.protectData ? RemovalPolicy.RETAIN : RemovalPolicy.DESTROY,
  });
  const role = new Role(scope, 'Role', {
    assumedBy: new ServicePrincipal('lambda.amazonaws.com'),
  });
  logGroup.grantWrite(role);
  return { logGroup, role };
};
