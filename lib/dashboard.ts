import { Annotations, Duration, Stack } from 'aws-cdk-lib';
import {
  type AlarmBase,
  AlarmStatusWidget,
  Dashboard,
  type IWidget,
} from 'aws-cdk-lib/aws-cloudwatch';
import { Construct } from 'constructs';
import { type DashboardSources, logRows } from './dashboard-logs.ts';
import { type PlatformSources, platformRows } from './dashboard-platform.ts';
import { productRows } from './dashboard-product.ts';
import { FULL_WIDTH } from './dashboard-widgets.ts';

export type RouterDashboardProps = DashboardSources &
  PlatformSources & {
    /** Shown in this order in the status widget. */
    alarms: AlarmBase[];
  };

/** CloudWatch's limits of metrics in a widget, and in a dashboard. */
const WIDGET_METRICS = 500;
const DASHBOARD_METRICS = 2_500;

const metricsOf = (widget: IWidget): number => {
  const widgets: { properties: { metrics?: unknown[] } }[] = widget.toJson();
  return widgets.reduce((sum, { properties }) => sum + (properties.metrics?.length ?? 0), 0);
};

/** Warns of more metrics than CloudWatch shows: their number grows with `maxSeries` and the catalog. */
const warnOfLimits = (scope: Construct, rows: IWidget[][]): void => {
  const counts = rows.flat().map(metricsOf);
  const most = Math.max(...counts);
  const sum = counts.reduce((total, count) => total + count, 0);
  if (most <= WIDGET_METRICS && sum <= DASHBOARD_METRICS) return;
  Annotations.of(scope).addWarningV2(
    'model-router:dashboard-metrics',
    `The dashboard would have ${sum} metrics, ${most} of them in one widget; CloudWatch shows at most ` +
      `${DASHBOARD_METRICS} and ${WIDGET_METRICS}. Lower maxSeries: metrics then count the last models as "other".`,
  );
};

/**
 * One dashboard per stage, named like the stack: alarms, then requests, upstreams, meters, Lambda
 * and log tables.
 */
export class RouterDashboard extends Construct {
  readonly dashboard: Dashboard;

  constructor(scope: Construct, id: string, props: RouterDashboardProps) {
    super(scope, id);
    const status = new AlarmStatusWidget({
      title: 'Alarms (each description links its runbook)',
      alarms: props.alarms,
      width: FULL_WIDTH,
      height: 3,
    });
    const widgets = [[status], ...productRows(props), ...platformRows(props), ...logRows(props)];
    warnOfLimits(this, widgets);
    this.dashboard = new Dashboard(this, 'Dashboard', {
      dashboardName: Stack.of(this).stackName,
      defaultInterval: Duration.hours(3),
      widgets,
    });
  }
}
