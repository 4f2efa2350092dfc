import { RetentionDays } from 'aws-cdk-lib/aws-logs';
import type { Node } from 'constructs';
import { ALERT_FORMS, type AlertForm } from '../lambdas/env.ts';
import type { STATE_MODES, TableName } from '../lambdas/tables.ts';
import { readStageContext, type StageContext } from './stage-context.ts';

/**
 * The settings in which deployments of the stack differ. Defaults are those of the stage options.
 */
export type Stage = {
  /** @default 'dev' */
  name: 'dev' | 'prod';
  /**
   * Keeps data after `cdk destroy`, protects it from deletion and makes it restorable.
   * @default true in prod, false in dev
   */
  protectData: boolean;
  /** @default 7 days in dev, 30 in prod */
  logRetention: RetentionDays;
  /**
   * Maximum of concurrent requests, one per execution environment; 0 rejects every request. A
   * number as default would fail the first deployment of a new account, whose limit (10) is too low
   * to reserve any.
   * @default undefined: the account's limit
   */
  reservedConcurrency: number | undefined;
  adminConcurrency: number | undefined;
  /**
   * The account's concurrency limit, for the alarm at 80 % of it.
   * @default 1000
   */
  accountConcurrency: number;
  /**
   * Whether alarms notify a topic. Its KMS key costs $1 a month, so dev has one only with an
   * address.
   * @default true in prod or with `alarmEmail`
   */
  sendsAlarms: boolean;
  /** @default undefined: no e-mail */
  alarmEmail: string | undefined;
  /** Who gets alerts of alarms and of the log. @default none */
  alertForms: AlertForm[];
  /** Address of signed alerts, which `alertForms` then has. */
  alertWebhook: string | undefined;
  /**
   * Absolute URL of the runbooks, without a fragment.
   * @default DEFAULT_RUNBOOK_URL of lambdas/env.ts
   */
  runbookUrl: string;
  /** @default undefined: only the address of AWS */
  domain: { name: string; certificateArn: string } | undefined;
  /**
   * Requests per IP address in five minutes.
   * @default undefined: no firewall
   */
  firewallRate: number | undefined;
  /** @default 256 */
  memoryMb: number;
  /**
   * Limits of the REST API. 1,000 environments at 5 s per response serve 200 requests per second,
   * so a rate above 1,000 is a flood.
   * @default 1,000 requests per second, bursts of 2,000
   */
  restThrottle: { rate: number; burst: number };
  /** @default true, false with a firewall */
  hasFunctionUrl: boolean;
  /** Names of existing tables. @default undefined: the stack creates it */
  existingTables: Record<Exclude<TableName, 'answers'>, string | undefined>;
  /** Complete ARN of an existing secret. @default undefined: the stack creates it */
  existingSecret: string | undefined;
  /** Id of an existing user pool. @default undefined: the stack creates it */
  existingUserPool: string | undefined;
  /** ARN of a key for tables and secret. @default undefined: the keys of AWS */
  kmsKey: string | undefined;
  /** @default {} */
  tags: Record<string, string>;
  /** Origins that may call the router from a browser. @default [] */
  corsOrigins: string[];
  /** @default false */
  hasWebFunction: boolean;
  /** Whether the REST API serves the console. @default true */
  hasConsole: boolean;
  maxSeries: number;
  /** Days that the record of a request is kept. @default 35 */
  recordDays: number;
  /** Minutes between two runs of the history. @default 60 */
  historyMinutes: number;
  /** What `count_tokens` asks first. @default 'estimate' */
  countTokens: 'estimate' | 'provider';
  /** Whether upstreams get the caller's `traceparent`. @default false */
  passesTraceparent: boolean;
  /** How records keep users, sessions and agents. @default 'plain' */
  who: 'plain' | 'hash';
  /** The OTLP collector of all records. @default undefined: none */
  otlp: { endpoint: string; headers: 'none' | 'secret' } | undefined;
  /** Hours that a response is kept for repeats of its request; 0: none is kept. @default 24 */
  replayHours: number;
  /** Which responses are stored for callers, where their plan does not say. @default 'off' */
  state: (typeof STATE_MODES)[number];
  /** @default 30 */
  stateDays: number;
};

const STAGES = {
  dev: { protectData: false, sendsAlarms: false, logRetention: RetentionDays.ONE_WEEK },
  prod: { protectData: true, sendsAlarms: true, logRetention: RetentionDays.ONE_MONTH },
} satisfies Record<Stage['name'], Pick<Stage, 'protectData' | 'sendsAlarms' | 'logRetention'>>;

const domainOf = ({ domainName: name, certificateArn }: StageContext): Stage['domain'] =>
  name === undefined || certificateArn === undefined ? undefined : { name, certificateArn };

const alertFormsOf = ({ alarmEmail, alertSlack, alertWebhook }: StageContext): AlertForm[] => {
  const isOn = {
    email: alarmEmail !== undefined,
    slack: alertSlack === 'secret',
    webhook: alertWebhook !== undefined,
  };
  return ALERT_FORMS.filter((form) => isOn[form]);
};

const existingTablesOf = (context: StageContext): Stage['existingTables'] => {
  const { keysTable, plansTable, projectsTable, metersTable, recordsTable, historyTable } = context;
  return {
    keys: keysTable,
    plans: plansTable,
    projects: projectsTable,
    meters: metersTable,
    records: recordsTable,
    history: historyTable,
  };
};

/** Reads the stage from the CDK context. @throws ConfigurationError on an invalid option */
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
  const alertForms = alertFormsOf(context);
  return {
    name,
    protectData,
    logRetention: context.logRetention ?? logRetention,
    reservedConcurrency,
    adminConcurrency: context.adminConcurrency,
    accountConcurrency,
    sendsAlarms: sendsAlarms || alertForms.length > 0,
    alarmEmail,
    alertForms,
    alertWebhook: context.alertWebhook,
    runbookUrl,
    domain: domainOf(context),
    firewallRate,
    maxSeries: context.maxSeries,
    recordDays: context.recordDays,
    historyMinutes: context.historyMinutes,
    countTokens: context.countTokens,
    passesTraceparent: context.traceparent === 'pass',
    who: context.who,
    otlp:
      context.otlpEndpoint === undefined
        ? undefined
        : { endpoint: context.otlpEndpoint, headers: context.otlpHeaders },
    memoryMb: context.memory,
    restThrottle: { rate: context.restRate, burst: context.restBurst ?? 2 * context.restRate },
    // WAF cannot protect a Function URL, which would bypass it.
    hasFunctionUrl: context.functionUrl === 'on' && firewallRate === undefined,
    existingTables: existingTablesOf(context),
    existingSecret: context.upstreamSecret,
    existingUserPool: context.userPool,
    kmsKey: context.kmsKey,
    tags: context.tags ?? {},
    corsOrigins: context.corsOrigins ?? [],
    replayHours: context.replayHours,
    state: context.state,
    stateDays: context.stateDays,
    hasWebFunction: context.webFunction === 'on',
    hasConsole: context.dashboard === 'cognito',
  };
};
