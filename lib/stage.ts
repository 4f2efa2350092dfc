import { RetentionDays } from 'aws-cdk-lib/aws-logs';
import type { Node } from 'constructs';
import { readStageContext, type StageContext } from './stage-context.ts';

/** How one deployment of the stack differs from another. */
export type Stage = {
  name: 'dev' | 'prod';
  /** Data outlives a mistake: kept after `cdk destroy`, protected from deletion, restorable. */
  protectData: boolean;
  logRetention: RetentionDays;
  /**
   * Requests under way at once, one per execution environment. Undefined means the account's limit: a
   * new account has too few (10) to reserve any, so a default here would fail its first deployment.
   */
  reservedConcurrency: number | undefined;
  accountConcurrency: number;
  /** Alarms tell a topic. Its encryption key is $1 a month, so dev has one only with an address. */
  sendsAlarms: boolean;
  alarmEmail: string | undefined;
  /** Absolute URL of the runbooks, without a fragment. */
  runbookUrl: string;
  domain: { name: string; certificateArn: string } | undefined;
  firewallRate: number | undefined;
  hasWebFunction: boolean;
  maxSeries: number;
};

const STAGES = {
  dev: { protectData: false, sendsAlarms: false, logRetention: RetentionDays.ONE_WEEK },
  prod: { protectData: true, sendsAlarms: true, logRetention: RetentionDays.ONE_MONTH },
} satisfies Record<Stage['name'], Pick<Stage, 'protectData' | 'sendsAlarms' | 'logRetention'>>;

const domainOf = ({ domainName: name, certificateArn }: StageContext): Stage['domain'] =>
  name === undefined || certificateArn === undefined ? undefined : { name, certificateArn };

/** @throws ConfigurationError */
export const readStage = (node: Node): Stage => {
  const context = readStageContext(node);
  const {
    stage: name,
    reservedConcurrency,
    accountConcurrency,
    alarmEmail,
    runbookUrl,
    firewallRate,
  } = context;
  const { protectData, sendsAlarms, logRetention } = STAGES[name];
  return {
    name,
    protectData,
    logRetention: context.logRetention ?? logRetention,
    reservedConcurrency,
    accountConcurrency,
    sendsAlarms: sendsAlarms || alarmEmail !== undefined,
    alarmEmail,
    runbookUrl,
    domain: domainOf(context),
    firewallRate,
    maxSeries: context.maxSeries,
    hasWebFunction: context.webFunction === 'on',
  };
};
