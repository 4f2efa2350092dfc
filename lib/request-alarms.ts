import { Duration } from 'aws-cdk-lib';
import { MathExpression } from 'aws-cdk-lib/aws-cloudwatch';
import {
  type AlarmSources,
  type AlarmSpec,
  plus,
  RARE,
  rareShare,
  servedOf,
} from './alarm-specs.ts';
import { SUM } from './platform-metrics.ts';
import { type RouterMetrics, share, type Total, totalOf, variablesOf } from './router-metrics.ts';

/**
 * 5xx without those of throttled items: one item is one key, and one busy key must not page. Its own
 * alarm is meters-throttled.
 */
const failedOf = (metrics: RouterMetrics): Total => ({
  of: [metrics.inStage('Status5xx')],
  without: [metrics.inStage('MeterThrottled')],
});

/** Failures that callers see. */
const callerAlarms = ({ router, metrics }: AlarmSources): AlarmSpec[] => {
  const [served, failed] = [servedOf(metrics), failedOf(metrics)];
  // The function's Invocations would miss the Web Function's requests.
  const [crashed, throttled] = [router.metricErrors(SUM), router.metricThrottles(SUM)];
  return [
    {
      id: 'most-requests-fail',
      description: 'More than half of all requests fail.',
      metric: share({
        part: plus(failed, crashed, throttled),
        whole: plus(served, crashed, throttled),
        atLeast: 10,
        label: 'failed requests (%)',
      }),
      above: 50,
      notifies: false,
    },
    {
      id: 'server-errors',
      description: 'More than 5 % of requests get a 5xx response.',
      metric: share({ part: failed, whole: served, atLeast: 20, label: '5xx (%)' }),
      above: 5,
    },
    {
      id: 'function-errors',
      description: 'Invocations crash or time out.',
      metric: rareShare(crashed, plus(served, crashed), 3, 'crashes and timeouts (%)'),
      above: RARE,
    },
    {
      id: 'deadline-cuts',
      description: 'Responses are cut off at the deadline.',
      metric: rareShare(metrics.inStage('DeadlineCuts'), served, 5, 'cut at the deadline (%)'),
      above: 0.1,
    },
    {
      id: 'authentication-failures',
      description: 'More than half of at least 100 requests in 5 minutes have an invalid API key.',
      metric: share({
        part: { of: [metrics.inStage('Status401')] },
        whole: { of: [metrics.inStage('Requests')] },
        atLeast: 100,
        label: '401 (%)',
      }),
      above: 50,
    },
  ];
};

/** 403s in five minutes that a flagged prompt does not explain. */
const MIN_FORBIDDEN = 3;

/**
 * Rejected credentials. A 401 counts from the first: those of two projects open the breaker of the credential for
 * 5 minutes, so that few follow. A 403 counts from the third, because some providers return it for a prompt.
 */
const refusedCredentials = (metrics: RouterMetrics): MathExpression => {
  const refused: Total = { of: [metrics.inStage('UpstreamCredentialRefused')] };
  const forbidden: Total = { of: [metrics.inStage('UpstreamForbidden')] };
  const some = totalOf(forbidden);
  return new MathExpression({
    expression: `${totalOf(refused)}+IF(${some}>=${MIN_FORBIDDEN},${some},0)`,
    usingMetrics: variablesOf(refused, forbidden),
    period: Duration.minutes(5),
    label: 'rejected credentials',
  });
};

/** Providers and the router's credentials for them. */
const upstreamAlarms = ({ metrics }: AlarmSources): AlarmSpec[] => [
  {
    id: 'no-healthy-target',
    description: 'All targets of a model are failing.',
    metric: rareShare(
      metrics.inStage('NoHealthyTarget'),
      servedOf(metrics),
      5,
      'without a healthy target (%)',
    ),
    above: RARE,
  },
  {
    id: 'upstream-credential-refused',
    description: "A provider rejects the router's credentials.",
    metric: refusedCredentials(metrics),
    above: 0,
  },
  {
    id: 'upstream-no-quota',
    description: "The router's account at a provider has no money or quota left.",
    metric: metrics.inStage('UpstreamNoQuota'),
    above: 0,
  },
  {
    id: 'upstream-model-unknown',
    description: 'A provider does not have a model or path that the catalog names.',
    metric: metrics.inStage('UpstreamModelUnknown'),
    above: 0,
  },
  {
    id: 'secret-fetch-failed',
    description:
      'The provider-credentials secret cannot be read, or a credential is missing from it.',
    metric: metrics.inStage('SecretFetchFailed'),
    above: 0,
  },
];

/** Alarms on what becomes of requests, at callers and at providers. */
export const requestAlarms = (sources: AlarmSources): AlarmSpec[] => [
  ...callerAlarms(sources),
  ...upstreamAlarms(sources),
];
