import { Stack } from 'aws-cdk-lib';
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
import type { Topic } from 'aws-cdk-lib/aws-sns';
import { Construct } from 'constructs';
import { type AlarmSources, type AlarmSpec, alarmSpecs } from './alarm-specs.ts';
import { AlarmTopic } from './alarm-topic.ts';

export type AlarmsProps = AlarmSources;

/** The service is down when one of these rings. */
const DOWN = ['most-requests-fail', 'meter-unreachable'];

const describe = (says: string, anchor: string): string =>
  `${says} What to do: docs/operations.md#${anchor}`;

/** What wakes people, each with a runbook, and one that says that the service as a whole is down. */
export class Alarms extends Construct {
  /** The composite first, then in the order of their specs. */
  readonly all: AlarmBase[];
  /** Absent where the stage tells nobody. */
  readonly topic: Topic | undefined;

  constructor(scope: Construct, id: string, watched: AlarmsProps) {
    super(scope, id);
    const { stage } = watched;
    this.topic = stage.sendsAlarms ? new AlarmTopic(this, 'Topic', { stage }).topic : undefined;
    const specs = alarmSpecs(watched);
    const alarms = specs.map((spec) => this.add(spec));
    const deciding = alarms.filter((_, at) => DOWN.includes(specs[at]?.id ?? ''));
    const serviceDown = new CompositeAlarm(this, 'service-down', {
      compositeAlarmName: this.nameOf('service-down'),
      alarmDescription: describe('The service is down for most callers.', 'service-down'),
      alarmRule: AlarmRule.anyOf(
        ...deciding.map((alarm) => AlarmRule.fromAlarm(alarm, AlarmState.ALARM)),
      ),
    });
    this.tell(serviceDown);
    this.all = [serviceDown, ...alarms];
  }

  private nameOf(id: string): string {
    return `${Stack.of(this).stackName}-${id}`;
  }

  private add({ id, says, metric, above, points = [1, 1], isSilent }: AlarmSpec): Alarm {
    const [datapointsToAlarm, evaluationPeriods] = points;
    const alarm = new Alarm(this, id, {
      alarmName: this.nameOf(id),
      alarmDescription: describe(says, id),
      metric,
      threshold: above,
      comparisonOperator: ComparisonOperator.GREATER_THAN_THRESHOLD,
      datapointsToAlarm,
      evaluationPeriods,
      // Faults are counted when they happen and traffic may rest: no data is good news.
      treatMissingData: TreatMissingData.NOT_BREACHING,
    });
    if (!isSilent) this.tell(alarm);
    return alarm;
  }

  /** Also when it is over, so that nobody has to go and look. */
  private tell(alarm: AlarmBase): void {
    if (this.topic === undefined) return;
    const action = new SnsAction(this.topic);
    alarm.addAlarmAction(action);
    alarm.addOkAction(action);
  }
}
