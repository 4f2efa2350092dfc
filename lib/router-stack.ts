import { Annotations, CfnOutput, Stack, type StackProps, Tags } from 'aws-cdk-lib';
import type { Code } from 'aws-cdk-lib/aws-lambda';
import { Construct } from 'constructs';
import type { Model } from '../lambdas/catalog/catalog.ts';
import { allLabelsOf, countSeries, labelsOf, SERIES_PRICE } from '../lambdas/metrics.ts';
import { TABLES } from '../lambdas/tables.ts';
import { AdminFunction } from './admin-function.ts';
import { Alarms } from './alarms.ts';
import { addAlertFunction } from './alert-function.ts';
import { AnswerBucket } from './answer-bucket.ts';
import { ConfigurationError } from './configuration-error.ts';
import { Console } from './console.ts';
import { createDashboard } from './dashboard.ts';
import { addOtlpFunction } from './otlp-function.ts';
import { hostOnly, PublicEndpoints } from './public-endpoints.ts';
import { RouterFunction } from './router-function.ts';
import { createRouterMetrics } from './router-metrics.ts';
import type { Stage } from './stage.ts';
import { createTables } from './tables.ts';
import { UpstreamSecrets } from './upstream-secrets.ts';
import { WebEndpoint } from './web-endpoint.ts';

export type RouterStackProps = StackProps & {
  stage: Stage;
  /** The catalog that the functions are bundled with. */
  models: Model[];
  code: Code;
  /** Folder of the bundled HTTP server (lambdas/web.ts). @default no Web Function */
  webFolder?: string | undefined;
  adminCode: Code;
  /** The bundled stream of the console's files (lambdas/console-files.ts). @default the stage has no console */
  consoleCode?: Code | undefined;
  /** The bundled export of records (lambdas/otlp.ts). @default none: the stage has no collector */
  otlpCode?: Code | undefined;
  /** The bundled sender of alerts (lambdas/alerts.ts). @default none: the stage has no receiver */
  alertsCode?: Code | undefined;
};

export class RouterStack extends Stack {
  constructor(scope: Construct, id: string, allProps: RouterStackProps) {
    const { stage, models, code, adminCode, consoleCode, otlpCode, ...others } = allProps;
    const { alertsCode, webFolder, ...props } = others;
    super(scope, id, { terminationProtection: stage.protectData, ...props });
    for (const [name, value] of Object.entries(stage.tags)) {
      // Older regions' schema of a dashboard has no tags: cfn-lint rejects them.
      Tags.of(this).add(name, value, { excludeResourceTypes: ['AWS::CloudWatch::Dashboard'] });
    }
    const tables = createTables(this, stage);
    const upstreamSecrets = new UpstreamSecrets(this, 'UpstreamSecrets', { stage, models });
    const answerBucket =
      stage.replayHours === 0 ? undefined : new AnswerBucket(this, 'AnswerBucket', { stage });
    const shared = { stage, models, tables, upstreamSecrets };
    const router = new RouterFunction(this, 'Router', { ...shared, code, answerBucket });
    const endpoints = new PublicEndpoints(this, 'FrontDoors', { stage, router: router.function });
    const { restApi } = endpoints;
    const console = consoleCode
      ? new Console(this, 'Console', { stage, restApi, code: consoleCode })
      : undefined;
    const admin = new AdminFunction(this, 'Admin', {
      ...{ ...shared, code: adminCode, console },
      callerUrl: endpoints.callerUrl,
    });
    endpoints.addAdminRoutes(admin.function);
    console?.addRoutes(restApi, admin.function);
    const web =
      webFolder === undefined
        ? undefined
        : new WebEndpoint(this, 'WebDoor', { stage, router, folder: webFolder });
    const monitored = new Construct(this, 'Monitoring');
    const sources = {
      ...{ stage, models, restApi, router: router.function, logGroup: router.logGroup },
      metersTable: tables.meters.tableName,
      metrics: createRouterMetrics(stage.name),
      webErrors: web?.serverErrors,
    };
    const alarms = new Alarms(monitored, 'Alarms', sources);
    createDashboard(monitored, {
      ...{ ...sources, alarms: alarms.all, memoryMb: stage.memoryMb },
      labels: labelsOf(models, stage.maxSeries),
    });

    if (stage.otlp && otlpCode) {
      addOtlpFunction(this, { ...shared, otlp: stage.otlp, code: otlpCode });
    }
    const { topic } = alarms;
    if (topic && alertsCode && stage.alertForms.length > 0) {
      const logGroups = { Router: router.logGroup, Admin: admin.logGroup };
      addAlertFunction(this, { ...shared, code: alertsCode, topic, logGroups });
    }

    this.outputAddresses(endpoints);
    this.output('DashboardUrl', alarms.dashboardUrl);
    if (console) {
      this.output('ConsoleUrl', console.url);
      this.output('ConsoleUsers', console.userPool.userPoolId);
    }
    if (web) this.output('WebFunctionUrl', web.url);
    this.output('RouterFunctionName', router.function.functionName);
    this.output('UpstreamSecretName', upstreamSecrets.secret.secretName);
    this.output('UpstreamSecretFields', upstreamSecrets.names.join(', ') || 'none');
    this.output('RouterLogGroup', router.logGroup.logGroupName);
    this.output('AdminLogGroup', admin.logGroup.logGroupName);
    for (const name of TABLES) {
      const table = tables[name];
      if (table) this.output(`${name}Table`, table.tableName);
    }
    if (answerBucket) this.output('answersBucket', answerBucket.bucket.bucketName);
    reportMetricSeries(this, models, stage.maxSeries);
    warnOfExampleHosts(this, models);
  }

  private outputAddresses({ functionUrl, restApi, customDomain }: PublicEndpoints): void {
    if (functionUrl) this.output('FunctionUrl', hostOnly(functionUrl.url));
    this.output('RestApiUrl', restApi.url.replace(/\/$/, ''));
    if (!customDomain) return;
    const { domainName, domainNameAliasDomainName } = customDomain;
    this.output('CustomUrl', `https://${domainName}`);
    // Target of the operator's DNS record.
    this.output('CustomDomainTarget', domainNameAliasDomainName);
  }

  private output(name: string, value: string): void {
    new CfnOutput(this, `${name.charAt(0).toUpperCase()}${name.slice(1)}`, { value });
  }
}

const priceOf = (series: number): string => `$${(series * SERIES_PRICE).toFixed(2)} a month`;

/**
 * Reports the number and price of the metric series, and warns of models folded into `other`.
 * @throws ConfigurationError if not even one series of each kind fits
 */
const reportMetricSeries = (stack: Stack, models: Model[], maxSeries: number): void => {
  const labels = labelsOf(models, maxSeries);
  const count = countSeries(labels);
  if (count > maxSeries) {
    throw new ConfigurationError(
      `maxSeries=${maxSeries} is too small: with every model counted as "other" there are ${count} series.`,
    );
  }
  Annotations.of(stack).addInfoV2(
    'model-router:metric-series',
    `Metric series: ${count} of at most ${maxSeries} (maxSeries), ${priceOf(count)}.`,
  );
  const folded = models.filter(({ id }) => !labels.some(({ model }) => model === id));
  if (folded.length === 0) return;
  const needed = countSeries(allLabelsOf(models));
  Annotations.of(stack).addWarningV2(
    'model-router:folded-models',
    `maxSeries=${maxSeries} is too small for ${folded.map(({ id }) => id).join(', ')}: metrics count ` +
      `them as "other". All models need -c maxSeries=${needed}, ${priceOf(needed)}.`,
  );
};

/**
 * Warns of hosts under `.example`, which never resolve: the stack deploys, but every request fails.
 */
const warnOfExampleHosts = (stack: Stack, models: Model[]): void => {
  const hosts = models.flatMap(({ targets }) =>
    targets.map(({ baseUrl }) => new URL(baseUrl).host),
  );
  const examples = [...new Set(hosts)].filter((host) => host.endsWith('.example'));
  if (examples.length === 0) return;
  Annotations.of(stack).addWarningV2(
    'model-router:example-upstream',
    `The catalog contains example hosts: ${examples.join(', ')}. Set your own catalog: -c catalog=FILE.`,
  );
};
