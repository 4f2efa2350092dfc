import { Duration } from 'aws-cdk-lib';
import { MathExpression } from 'aws-cdk-lib/aws-cloudwatch';
import { type AlarmSources, type AlarmSpec, plus, rareShare, servedOf } from './alarm-specs.ts';
import { SUM } from './platform-metrics.ts';
import { type RouterMetrics, share, type Total, totalOf, variablesOf } from './router-metrics.ts';

const FIFTEEN_MINUTES = Duration.minutes(15);

/** Requests in five minutes of which a share means something. With fewer, only that of a longer time does. */
const MIN_REQUESTS = 10;

/** Shares of requests that fail for their callers: at once with enough requests, else after 45 minutes. */
const failureAlarms = ({ router, metrics }: AlarmSources): AlarmSpec[] => {
  const served = servedOf(metrics);
  const failed: Total = { of: [metrics.inStage('Failed')] };
  // The function's Invocations would miss the Web Function's requests.
  const [crashed, throttled] = [router.metricErrors(SUM), router.metricThrottles(SUM)];
  return [
    {
      id: 'most-requests-fail',
      description: 'More than half of all requests fail.',
      metric: share({
        part: plus(failed, crashed, throttled),
        whole: plus(served, crashed, throttled),
        atLeast: MIN_REQUESTS,
        label: 'failed requests (%)',
      }),
      above: 50,
      notifies: false,
    },
    {
      id: 'server-errors',
      description: 'More than 5 % of requests get a 5xx response, or a stream that breaks off.',
      metric: share({
        part: failed,
        whole: served,
        atLeast: MIN_REQUESTS,
        atLeastPart: 3,
        label: 'failed (%)',
      }),
      above: 5,
    },
    {
      id: 'failures-at-low-traffic',
      description: 'More than 10 % of few requests fail, for 45 minutes.',
      metric: share({
        part: failed,
        whole: served,
        atLeast: 1,
        below: 3 * MIN_REQUESTS,
        period: FIFTEEN_MINUTES,
        label: 'failed of few (%)',
      }),
      above: 10,
      points: [3, 8],
    },
  ];
};

/** Responses that callers cannot use, and callers that cannot be known. */
const callerAlarms = ({ router, metrics }: AlarmSources): AlarmSpec[] => {
  const served = servedOf(metrics);
  const crashed = router.metricErrors(SUM);
  return [
    {
      id: 'function-errors',
      description: 'Invocations crash or time out.',
      ...rareShare({
        event: crashed,
        whole: plus(served, crashed),
        atLeast: 3,
        label: 'crashes and timeouts (%)',
      }),
    },
    {
      id: 'deadline-cuts',
      description: 'Responses are cut off at the deadline.',
      ...rareShare({
        event: metrics.inStage('DeadlineCuts'),
        whole: served,
        atLeast: 5,
        above: 0.1,
        label: 'cut at the deadline (%)',
      }),
    },
    {
      id: 'empty-responses',
      description: 'More than 20 % of responses are empty.',
      ...rareShare({
        event: metrics.inStage('EmptyResponses'),
        whole: served,
        atLeast: 5,
        above: 20,
        label: 'empty (%)',
      }),
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

/** What fails until an operator acts is met once in five minutes or more: the others do not call the target. */
const UNTIL_REPAIRED: AlarmSpec['points'] = [1, 12];

/** Targets that cannot respond. */
const targetAlarms = ({ metrics }: AlarmSources): AlarmSpec[] => {
  const served = servedOf(metrics);
  return [
    {
      id: 'no-healthy-target',
      description: 'All targets of a model are failing.',
      metric: share({
        part: { of: [metrics.inStage('NoHealthyTarget')] },
        whole: served,
        atLeast: 1,
        atLeastPart: 5,
        label: 'without a healthy target (%)',
      }),
      above: 0.01,
    },
    {
      id: 'failovers',
      description:
        'For half an hour more than 20 % of requests were not served by the first target.',
      metric: share({
        part: { of: [metrics.inStage('Failovers')] },
        whole: served,
        atLeast: 5,
        period: FIFTEEN_MINUTES,
        label: 'served by another target (%)',
      }),
      above: 20,
      points: [2, 4],
    },
  ];
};

/** The router's accounts at providers. */
const accountAlarms = ({ metrics }: AlarmSources): AlarmSpec[] => [
  {
    id: 'upstream-credential-refused',
    description: "A provider rejects the router's credentials.",
    metric: refusedCredentials(metrics),
    above: 0,
    points: UNTIL_REPAIRED,
  },
  {
    id: 'upstream-no-quota',
    description: "The router's account at a provider has no money or quota left.",
    metric: metrics.inStage('UpstreamNoQuota'),
    above: 0,
    points: UNTIL_REPAIRED,
  },
  {
    id: 'upstream-model-unknown',
    description: 'A provider does not have a model or path that the catalog names.',
    metric: metrics.inStage('UpstreamModelUnknown'),
    above: 0,
    points: UNTIL_REPAIRED,
  },
  {
    id: 'secret-fetch-failed',
    description:
      'The provider-credentials secret cannot be read, or a credential is missing from it.',
    metric: metrics.inStage('SecretFetchFailed'),
    above: 0,
    points: UNTIL_REPAIRED,
  },
];

/** Alarms on what becomes of requests, at callers and at providers. */
export const requestAlarms = (sources: AlarmSources): AlarmSpec[] => [
  ...failureAlarms(sources),
  ...callerAlarms(sources),
  ...targetAlarms(sources),
  ...accountAlarms(sources),
];
