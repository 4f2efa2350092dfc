import { Duration } from 'aws-cdk-lib';
import { type IMetric, type Metric, TreatMissingData } from 'aws-cdk-lib/aws-cloudwatch';
import type { Function as LambdaFunction } from 'aws-cdk-lib/aws-lambda';
import type { Model } from '../lambdas/catalog/catalog.ts';
import type { MetricIn } from '../lambdas/metrics.ts';
import { type RouterMetrics, type ShareOptions, share, type Total } from './router-metrics.ts';
import type { Stage } from './stage.ts';

export type AlarmSpec = {
  /** End of the alarm's name, and anchor of its runbook in docs/operations.md. */
  id: string;
  /** Anchor of the runbook, if several alarms share one. @default the id */
  runbook?: string;
  /** What failed: the first line of the alarm's description and of its e-mail. */
  description: string;
  metric: IMetric;
  /** The alarm fires above this value. */
  above: number;
  /**
   * How many data points must be above it, out of how many. Out of more than it takes, the alarm lasts through gaps
   * between failures, instead of changing its state with each.
   * @default [1, 3]
   */
  points?: [count: number, of: number];
  /**
   * What a period without data means. A metric that is 0 is not written, and traffic may pause.
   * @default TreatMissingData.NOT_BREACHING
   */
  missing?: TreatMissingData;
  /**
   * Whether the alarm notifies the topic; false for an input of the composite alarm.
   * @default true
   */
  notifies?: boolean;
};

export type AlarmSources = {
  stage: Stage;
  models: Model[];
  router: LambdaFunction;
  metersTable: string;
  metrics: RouterMetrics;
  /** Responses of 5xx of the optional Web Function, as AWS counts them. */
  webErrors?: Metric | undefined;
};

/**
 * The requests that could succeed. A flood of 401s or 429s costs its sender nothing; counted as part of
 * the whole it would hide an outage of the others.
 */
export const servedOf = (metrics: RouterMetrics): Total => ({
  of: [metrics.inStage('Requests')],
  without: [metrics.inStage('Denied')],
});

/** Adds what writes no log line, so that `Requests` does not count it. */
export const plus = ({ of, without = [] }: Total, ...more: Metric[]): Total => ({
  of: [...of, ...more],
  without,
});

/**
 * An alarm on a share in percent. It keeps its state while there are too few requests to tell, so that a failure does not
 * end with each pause of the traffic.
 */
export const shareAlarm = (
  options: ShareOptions,
): Pick<AlarmSpec, 'metric' | 'above' | 'points' | 'missing'> => ({
  metric: share(options),
  above: options.above,
  points: [1, 1],
  missing: TreatMissingData.IGNORE,
});

/** One in 10,000, in percent. */
const RARE = 0.01;

type Rare = Pick<AlarmSpec, 'id' | 'description'> &
  Pick<ShareOptions, 'label'> & {
    /** A metric of the stage by its name, or of AWS. */
    event: MetricIn<'stage'> | Metric;
    /** Of the event, what is none. @default nothing */
    without?: Metric[];
    /** @default the requests that could succeed */
    whole?: Total;
    /** Events in 15 minutes. */
    atLeast: number;
    /** Percent of the whole. @default one in 10,000 */
    above?: number;
  };

/**
 * An alarm on the share of a rare event. At 1,000 requests per second a few in 15 minutes are usual, and
 * at a few requests per minute they are not: the alarm needs both the count and the share.
 */
export const rareAlarm =
  ({ metrics }: AlarmSources) =>
  ({ id, description, event: named, without = [], atLeast, ...own }: Rare): AlarmSpec => {
    const event = typeof named === 'string' ? metrics.inStage(named) : named;
    return {
      ...{ id, description },
      ...shareAlarm({
        ...{ part: { of: [event], without }, whole: servedOf(metrics), above: RARE },
        ...{ ...own, atLeastPart: atLeast, period: Duration.minutes(15) },
      }),
    };
  };
