import { Duration } from 'aws-cdk-lib';
import { Metric } from 'aws-cdk-lib/aws-cloudwatch';
import type { Function as LambdaFunction } from 'aws-cdk-lib/aws-lambda';
import type { Stage } from './stage.ts';

const FIVE_MINUTES = Duration.minutes(5);

/** Statistic and period of most counts. */
export const SUM = { statistic: 'Sum', period: FIVE_MINUTES };

/**
 * A DynamoDB metric of UpdateItem, the only write that admits, commits, refunds and closes units.
 */
export const meterWrites = (tableName: string, metricName: string, statistic: string): Metric =>
  new Metric({
    namespace: 'AWS/DynamoDB',
    metricName,
    dimensionsMap: { TableName: tableName, Operation: 'UpdateItem' },
    statistic,
    period: FIVE_MINUTES,
  });

/**
 * Returns the metric of concurrent requests, and its limit: the reserved concurrency or the
 * account's.
 */
export const concurrencyOf = ({ stage, router }: { stage: Stage; router: LambdaFunction }) => {
  const used =
    stage.reservedConcurrency === undefined
      ? new Metric({ namespace: 'AWS/Lambda', metricName: 'ClaimedAccountConcurrency' })
      : router.metric('ConcurrentExecutions');
  return {
    used: used.with({ statistic: 'Maximum', period: Duration.minutes(1) }),
    limit: stage.reservedConcurrency ?? stage.accountConcurrency,
  };
};
