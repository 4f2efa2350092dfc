import { Aws, CfnMapping, RemovalPolicy, Stack } from 'aws-cdk-lib';
import * as cloudwatch from 'aws-cdk-lib/aws-cloudwatch';
import { SnsAction } from 'aws-cdk-lib/aws-cloudwatch-actions';
import { PolicyStatement, ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import { Key } from 'aws-cdk-lib/aws-kms';
import type { LogGroup } from 'aws-cdk-lib/aws-logs';
import { Topic } from 'aws-cdk-lib/aws-sns';
import { EmailSubscription } from 'aws-cdk-lib/aws-sns-subscriptions';
import { Construct } from 'constructs';
import { acknowledge } from './acknowledge.ts';
import type { AlarmSources, AlarmSpec } from './alarm-specs.ts';
import { platformAlarms } from './platform-alarms.ts';
import { requestAlarms } from './request-alarms.ts';
import type { Stage } from './stage.ts';

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

/** The topic that alarms publish to: encrypted, TLS only, with `stage.alarmEmail` subscribed if set. */
const createTopic = (scope: Construct, { name, alarmEmail }: Stage): Topic => {
  const parent = new Construct(scope, 'Topic');
  // A customer managed key: CloudWatch may not use the AWS managed key of SNS, and alarms that
  // cannot publish fail without an error.
  const masterKey = new Key(parent, 'Key', {
    description: `Alarms of the model router (${name})`,
    enableKeyRotation: true,
    removalPolicy: RemovalPolicy.DESTROY,
  });
  const cloudWatch = new ServicePrincipal('cloudwatch.amazonaws.com');
  masterKey.grant(cloudWatch, 'kms:Decrypt', 'kms:GenerateDataKey*');
  const topic = new Topic(parent, 'Topic', { masterKey, enforceSSL: true });
  // `enforceSSL` replaces the default topic policy, which allowed alarms to publish. The
  // condition limits the service principal to alarms of this account.
  topic.addToResourcePolicy(
    new PolicyStatement({
      principals: [cloudWatch],
      actions: ['sns:Publish'],
      resources: [topic.topicArn],
      conditions: { StringEquals: { 'aws:SourceAccount': Stack.of(parent).account } },
    }),
  );
  if (alarmEmail === undefined) return topic;
  acknowledge(topic.addSubscription(new EmailSubscription(alarmEmail)), {
    'Serverless-SNSRedrivePolicy':
      'E-mail needs no redrive queue: the alarm stays in ALARM and is visible in the console.',
  });
  return topic;
};

export class Alarms extends Construct {
  /** The composite alarm first, then in the order of their specs. */
  readonly all: cloudwatch.AlarmBase[];
  /** Address of the stage's dashboard in the console. */
  readonly dashboardUrl: string;
  /** Undefined unless `stage.sendsAlarms`. */
  readonly topic: Topic | undefined;
  private readonly describe: ReturnType<typeof createDescribe>;

  constructor(scope: Construct, id: string, props: AlarmsProps) {
    super(scope, id);
    const { stage } = props;
    this.topic = stage.sendsAlarms ? createTopic(this, stage) : undefined;
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

  private add(spec: AlarmSpec): cloudwatch.Alarm {
    const { id, metric, above, points = [1, 3], notifies = true } = spec;
    const [datapointsToAlarm, evaluationPeriods] = points;
    const alarm = new cloudwatch.Alarm(this, id, {
      alarmName: this.nameOf(id),
      alarmDescription: this.describe(spec),
      metric,
      threshold: above,
      comparisonOperator: cloudwatch.ComparisonOperator.GREATER_THAN_THRESHOLD,
      datapointsToAlarm,
      evaluationPeriods,
      treatMissingData: spec.missing ?? cloudwatch.TreatMissingData.NOT_BREACHING,
    });
    if (notifies) this.notify(alarm);
    return alarm;
  }

  private addServiceDown(inputs: cloudwatch.Alarm[]): cloudwatch.CompositeAlarm {
    const id = 'service-down';
    const alarm = new cloudwatch.CompositeAlarm(this, id, {
      compositeAlarmName: this.nameOf(id),
      alarmDescription: this.describe({ id, description: 'The service is down for most callers.' }),
      alarmRule: cloudwatch.AlarmRule.anyOf(
        ...inputs.map((input) =>
          cloudwatch.AlarmRule.fromAlarm(input, cloudwatch.AlarmState.ALARM),
        ),
      ),
    });
    this.notify(alarm);
    return alarm;
  }

  /** Sends the alarm and its recovery (OK) to the topic. */
  private notify(alarm: cloudwatch.AlarmBase): void {
    if (this.topic === undefined) return;
    const action = new SnsAction(this.topic);
    alarm.addAlarmAction(action);
    alarm.addOkAction(action);
  }
}
