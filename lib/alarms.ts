import { Aws, CfnMapping, Stack } from 'aws-cdk-lib';
import {
  Alarm,
  type AlarmBase,
  AlarmRule,
  AlarmState,
  ComparisonOperator,
  CompositeAlarm,
  TreatMissingData,
} from 'aws-cdk-lib/aws-cloudwatch';
import { SnsAction } from 'aws-cdk-lib/aws-cloudwatch-actions';
import type { LogGroup } from 'aws-cdk-lib/aws-logs';
import type { Topic } from 'aws-cdk-lib/aws-sns';
import { Construct } from 'constructs';
import type { AlarmSources, AlarmSpec } from './alarm-specs.ts';
import { AlarmTopic } from './alarm-topic.ts';
import { platformAlarms } from './platform-alarms.ts';
import { requestAlarms } from './request-alarms.ts';

export type AlarmsProps = AlarmSources & {
  /** Log group of the router, which every description links. */
  logGroup: LogGroup;
};

/** Domains of the console. A stack without a fixed region knows its partition at deployment only. */
const CONSOLE_DOMAINS = {
  aws: { domain: 'console.aws.amazon.com' },
  'aws-cn': { domain: 'console.amazonaws.cn' },
  'aws-us-gov': { domain: 'console.amazonaws-us-gov.com' },
};

/** `service-down` fires when one of these fires. */
const DOWN = ['most-requests-fail', 'meter-unreachable'];

/** Returns links into the console. The dashboard's has its name: it references the alarms, which link it. */
const createLinks = (scope: Construct, { logGroup }: AlarmsProps) => {
  const { region, stackName } = Stack.of(scope);
  const domains = new CfnMapping(scope, 'ConsoleDomains', { mapping: CONSOLE_DOMAINS });
  const domain = domains.findInMap(Aws.PARTITION, 'domain');
  const console = `https://${region}.${domain}/cloudwatch/home?region=${region}`;
  return {
    dashboard: `${console}#dashboards/dashboard/${stackName}`,
    // CloudFormation generates the name without slashes, so it needs no escaping.
    logs: `${console}#logsV2:log-groups/log-group/${logGroup.logGroupName}`,
  };
};

/**
 * Returns the four lines of an alarm's description, which is the text of its e-mail: what failed,
 * and links to the runbook, the dashboard and the log group. CloudWatch allows 1,024 characters.
 */
const createDescribe =
  ({ stage }: AlarmsProps, links: ReturnType<typeof createLinks>) =>
  ({ id, runbook = id, description }: Pick<AlarmSpec, 'id' | 'runbook' | 'description'>): string =>
    [
      description,
      `Runbook: ${stage.runbookUrl}#${runbook}`,
      `Dashboard: ${links.dashboard}`,
      `Logs: ${links.logs}`,
    ].join('\n');

/** All alarms of a stage, each with a runbook, and the composite alarm `service-down`. */
export class Alarms extends Construct {
  /** The composite alarm first, then in the order of their specs. */
  readonly all: AlarmBase[];
  /** Address of the stage's dashboard in the console. */
  readonly dashboardUrl: string;
  /** Undefined unless `stage.sendsAlarms`. */
  readonly topic: Topic | undefined;
  private readonly describe: ReturnType<typeof createDescribe>;

  constructor(scope: Construct, id: string, props: AlarmsProps) {
    super(scope, id);
    const { stage } = props;
    this.topic = stage.sendsAlarms ? new AlarmTopic(this, 'Topic', { stage }).topic : undefined;
    const links = createLinks(this, props);
    this.dashboardUrl = links.dashboard;
    this.describe = createDescribe(props, links);
    const specs = [...requestAlarms(props), ...platformAlarms(props)];
    const alarms = specs.map((spec) => ({ id: spec.id, alarm: this.add(spec) }));
    const serviceDown = this.addServiceDown(
      alarms.flatMap(({ id: name, alarm }) => (DOWN.includes(name) ? [alarm] : [])),
    );
    this.all = [serviceDown, ...alarms.map(({ alarm }) => alarm)];
  }

  private nameOf(id: string): string {
    return `${Stack.of(this).stackName}-${id}`;
  }

  private add(spec: AlarmSpec): Alarm {
    const { id, metric, above, points = [1, 3], notifies = true } = spec;
    const [datapointsToAlarm, evaluationPeriods] = points;
    const alarm = new Alarm(this, id, {
      alarmName: this.nameOf(id),
      alarmDescription: this.describe(spec),
      metric,
      threshold: above,
      comparisonOperator: ComparisonOperator.GREATER_THAN_THRESHOLD,
      datapointsToAlarm,
      evaluationPeriods,
      treatMissingData: spec.missing ?? TreatMissingData.NOT_BREACHING,
    });
    if (notifies) this.notify(alarm);
    return alarm;
  }

  private addServiceDown(inputs: Alarm[]): CompositeAlarm {
    const id = 'service-down';
    const alarm = new CompositeAlarm(this, id, {
      compositeAlarmName: this.nameOf(id),
      alarmDescription: this.describe({ id, description: 'The service is down for most callers.' }),
      alarmRule: AlarmRule.anyOf(
        ...inputs.map((input) => AlarmRule.fromAlarm(input, AlarmState.ALARM)),
      ),
    });
    this.notify(alarm);
    return alarm;
  }

  /** Sends the alarm and its recovery (OK) to the topic. */
  private notify(alarm: AlarmBase): void {
    if (this.topic === undefined) return;
    const action = new SnsAction(this.topic);
    alarm.addAlarmAction(action);
    alarm.addOkAction(action);
  }
}
