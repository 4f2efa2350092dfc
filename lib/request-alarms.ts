import { Duration } from 'aws-cdk-lib';
import { type IMetric, MathExpression, type Metric } from 'aws-cdk-lib/aws-cloudwatch';
import {
  type AlarmSources,
  type AlarmSpec,
  plus,
  rareAlarm,
  servedOf,
  shareAlarm,
} from './alarm-specs.ts';
import { SUM } from './platform-metrics.ts';
import { type RouterMetrics, type Total, totalOf, variablesOf } from './router-metrics.ts';

/** Requests in five minutes of which a share means something. With fewer, only that of half an hour does. */
const MIN_REQUESTS = 50;

/** Shares of requests that fail for their callers. */
const failureAlarms = ({ router, metrics }: AlarmSources): AlarmSpec[] => {
  const served = servedOf(metrics);
  const failed: Total = { of: [metrics.inStage('Failed')] };
  // The function's Invocations would miss the Web Function's requests.
  const [crashed, throttled] = [router.metricErrors(SUM), router.metricThrottles(SUM)];
  return [
    {
      id: 'most-requests-fail',
      description: 'More than half of all requests fail.',
      ...shareAlarm({
        part: plus(failed, crashed, throttled),
        whole: plus(served, crashed, throttled),
        above: 50,
        atLeast: 10,
        label: 'failed requests (%)',
      }),
      notifies: false,
    },
    {
      id: 'server-errors',
      description: 'More than 5 % of requests get a 5xx response, or a stream that breaks off.',
      ...shareAlarm({
        part: failed,
        whole: served,
        above: 5,
        atLeast: MIN_REQUESTS,
        label: 'failed (%)',
      }),
    },
    {
      id: 'failures-at-low-traffic',
      description: 'More than 10 % of few requests fail.',
      ...shareAlarm({
        part: failed,
        whole: served,
        above: 10,
        atLeastPart: 3,
        below: 6 * MIN_REQUESTS,
        period: Duration.minutes(30),
        label: 'failed of few (%)',
      }),
    },
  ];
};

/** Responses that callers cannot use, and callers that cannot be known. */
const callerAlarms = (sources: AlarmSources): AlarmSpec[] => {
  const { router, metrics, webErrors } = sources;
  const status5xx = metrics.inStage('Status5xx');
  const served = servedOf(metrics);
  const crashed = router.metricErrors(SUM);
  const rare = rareAlarm(sources);
  const ofWeb = (event: Metric): AlarmSpec =>
    rare({
      id: 'web-function-errors',
      description: 'Requests to the Web Function get a 5xx that is not of the router.',
      // Also those of the function's requests, so that the rest is too small rather than too large.
      ...{ event, without: [status5xx], atLeast: 3, label: 'of AWS (%)' },
      whole: { of: [...served.of, event], without: [...(served.without ?? []), status5xx] },
    });
  return [
    rare({
      id: 'function-errors',
      description: 'Invocations crash or time out.',
      event: crashed,
      whole: plus(served, crashed),
      ...{ atLeast: 3, label: 'crashes and timeouts (%)' },
    }),
    ...(webErrors ? [ofWeb(webErrors)] : []),
    rare({
      id: 'deadline-cuts',
      description: 'Responses are cut off at the deadline.',
      ...{ event: 'DeadlineCuts', atLeast: 5, above: 0.1, label: 'cut at the deadline (%)' },
    }),
    rare({
      id: 'empty-responses',
      description: 'More than 20 % of responses are empty.',
      ...{ event: 'EmptyResponses', atLeast: 5, above: 20, label: 'empty (%)' },
    }),
    {
      id: 'authentication-failures',
      description: 'More than half of at least 100 requests in 5 minutes have an invalid API key.',
      ...shareAlarm({
        part: { of: [metrics.inStage('Status401')] },
        whole: { of: [metrics.inStage('Requests')] },
        ...{ above: 50, atLeast: 100, label: '401 (%)' },
      }),
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
const UNTIL_REPAIRED = [1, 12] satisfies AlarmSpec['points'];

/** Targets that cannot respond. */
const targetAlarms = (sources: AlarmSources): AlarmSpec[] => [
  rareAlarm(sources)({
    id: 'no-healthy-target',
    description: 'All targets of a model are failing.',
    ...{ event: 'NoHealthyTarget', atLeast: 3, label: 'without a healthy target (%)' },
  }),
  {
    id: 'failovers',
    description: 'For half an hour more than 20 % of requests were not served by the first target.',
    ...shareAlarm({
      part: { of: [sources.metrics.inStage('Failovers')] },
      whole: servedOf(sources.metrics),
      ...{ above: 20, atLeast: 5, label: 'served by another target (%)' },
      period: Duration.minutes(15),
    }),
    points: [3, 5],
  },
];

/** The router's accounts at providers. */
const accountAlarms = ({ metrics }: AlarmSources): AlarmSpec[] => {
  const untilRepaired = (id: string, metric: IMetric, description: string): AlarmSpec => ({
    ...{ id, description, metric, above: 0, points: UNTIL_REPAIRED },
  });
  return [
    untilRepaired(
      'upstream-credential-refused',
      refusedCredentials(metrics),
      "A provider rejects the router's credentials.",
    ),
    untilRepaired(
      'upstream-no-quota',
      metrics.inStage('UpstreamNoQuota'),
      "The router's account at a provider has no money or quota left.",
    ),
    untilRepaired(
      'upstream-model-unknown',
      metrics.inStage('UpstreamModelUnknown'),
      'A provider does not have a model or path that the catalog names.',
    ),
    untilRepaired(
      'secret-fetch-failed',
      metrics.inStage('SecretFetchFailed'),
      'The provider-credentials secret cannot be read, or a credential is missing from it.',
    ),
  ];
};

export const requestAlarms = (sources: AlarmSources): AlarmSpec[] => [
  ...failureAlarms(sources),
  ...callerAlarms(sources),
  ...targetAlarms(sources),
  ...accountAlarms(sources),
];
