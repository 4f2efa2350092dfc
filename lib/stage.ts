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
   * Requests under way at once, one per execution environment. Absent means the account's limit: a
   * new account has too few (10) to reserve any, so a default here would fail its first deployment.
   */
  reservedConcurrency?: number;
  accountConcurrency: number;
  /** Alarms tell a topic. Its encryption key is $1 a month, so dev has one only with an address. */
  tellsAlarms: boolean;
  alarmEmail?: string;
  domain?: { name: string; certificateArn: string };
  firewallRate?: number;
  hasWebFunction: boolean;
};

const STAGES = {
  dev: { protectData: false, tellsAlarms: false, logRetention: RetentionDays.ONE_WEEK },
  prod: { protectData: true, tellsAlarms: true, logRetention: RetentionDays.ONE_MONTH },
} satisfies Record<Stage['name'], Pick<Stage, 'protectData' | 'tellsAlarms' | 'logRetention'>>;

const optionsOf = (context: StageContext): Partial<Stage> => {
  const { reservedConcurrency, logRetention, alarmEmail, firewallRate } = context;
  const { domainName: name, certificateArn } = context;
  return {
    ...(reservedConcurrency === undefined ? {} : { reservedConcurrency }),
    ...(logRetention === undefined ? {} : { logRetention }),
    ...(alarmEmail === undefined ? {} : { alarmEmail, tellsAlarms: true }),
    ...(name === undefined || certificateArn === undefined
      ? {}
      : { domain: { name, certificateArn } }),
    ...(firewallRate === undefined ? {} : { firewallRate }),
  };
};

/** @throws ConfigurationError */
export const readStage = (node: Node): Stage => {
  const context = readStageContext(node);
  const { stage: name, accountConcurrency, webFunction } = context;
  const hasWebFunction = webFunction === 'on';
  return { name, accountConcurrency, hasWebFunction, ...STAGES[name], ...optionsOf(context) };
};
