import { Duration, Stack } from 'aws-cdk-lib';
import { type AlarmBase, AlarmStatusWidget, Dashboard } from 'aws-cdk-lib/aws-cloudwatch';
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
    this.dashboard = new Dashboard(this, 'Dashboard', {
      dashboardName: Stack.of(this).stackName,
      defaultInterval: Duration.hours(3),
      widgets: [[status], ...productRows(props), ...platformRows(props), ...logRows(props)],
    });
  }
}
