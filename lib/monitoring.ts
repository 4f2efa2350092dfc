import type { RestApi } from 'aws-cdk-lib/aws-apigateway';
import type { Metric } from 'aws-cdk-lib/aws-cloudwatch';
import { Construct } from 'constructs';
import type { Model } from '../lambdas/catalog/catalog.ts';
import { labelsOf } from '../lambdas/metrics.ts';
import { Alarms } from './alarms.ts';
import { RouterDashboard } from './dashboard.ts';
import type { RouterFunction } from './router-function.ts';
import { createRouterMetrics } from './router-metrics.ts';
import type { Stage } from './stage.ts';
import type { Tables } from './tables.ts';

export type MonitoringProps = {
  stage: Stage;
  models: Model[];
  router: RouterFunction;
  tables: Tables;
  restApi: RestApi;
  webErrors: Metric | undefined;
};

/** Alarms and dashboard of a stage. */
export class Monitoring extends Construct {
  readonly alarms: Alarms;
  readonly dashboard: RouterDashboard;

  constructor(scope: Construct, id: string, props: MonitoringProps) {
    super(scope, id);
    const { stage, models, router, tables, restApi, webErrors } = props;
    const sources = {
      stage,
      models,
      router: router.function,
      metersTable: tables.meters.tableName,
      metrics: createRouterMetrics(stage.name),
      logGroup: router.logGroup,
      webErrors,
    };
    this.alarms = new Alarms(this, 'Alarms', sources);
    this.dashboard = new RouterDashboard(this, 'Dashboard', {
      ...sources,
      labels: labelsOf(models, stage.maxSeries),
      restApi,
      memoryMb: stage.memoryMb,
      alarms: this.alarms.all,
    });
  }
}
