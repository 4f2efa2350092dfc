import { Duration } from 'aws-cdk-lib';
import { Grant } from 'aws-cdk-lib/aws-iam';
import { EventSourceMapping, StartingPosition } from 'aws-cdk-lib/aws-lambda';
import { Construct } from 'constructs';
import type { OtlpEnv } from '../lambdas/env.ts';
import project from '../package.json' with { type: 'json' };
import { ConfigurationError } from './configuration-error.ts';
import { createFunction } from './function-parts.ts';
import type { FunctionProps } from './function-props.ts';
import type { Stage } from './stage.ts';

type Props = Omit<FunctionProps, 'models'> & { otlp: NonNullable<Stage['otlp']> };

/** Records of one export, or those of so long. */
const BATCH = 500;
const WINDOW = Duration.seconds(10);

/**
 * Exports the records to an OTLP collector, from the stream of their table: no request waits for it, and what the collector does
 * not take is repeated for the 24 hours that a stream keeps it.
 */
export const addOtlpFunction = (
  parent: Construct,
  { stage, otlp, code, tables, upstreamSecrets }: Props,
): void => {
  const scope = new Construct(parent, 'Otlp');
  const { tableStreamArn } = tables.records;
  if (stage.existingTables.records !== undefined || tableStreamArn === undefined) {
    throw new ConfigurationError(
      'otlpEndpoint reads the stream of the table of records, which an existing table (recordsTable) has none of in this stack.',
    );
  }
  const { role, function: target } = createFunction(scope, stage, {
    does: 'records for the OTLP collector',
    code,
    memorySize: 256,
    timeout: Duration.minutes(1),
    environment: {
      STAGE: stage.name,
      ENDPOINT: otlp.endpoint,
      HEADERS: otlp.headers,
      VERSION: project.version,
      UPSTREAM_SECRET: upstreamSecrets.secret.secretArn,
    } satisfies OtlpEnv,
  });
  Grant.addToPrincipal({
    grantee: role,
    actions: ['dynamodb:DescribeStream', 'dynamodb:GetRecords', 'dynamodb:GetShardIterator'],
    resourceArns: [tableStreamArn],
  });
  if (otlp.headers === 'secret') upstreamSecrets.grantValue(role);
  new EventSourceMapping(scope, 'Stream', {
    target,
    eventSourceArn: tableStreamArn,
    // What was written before the option was set is not exported.
    startingPosition: StartingPosition.LATEST,
    batchSize: BATCH,
    maxBatchingWindow: WINDOW,
  });
};
