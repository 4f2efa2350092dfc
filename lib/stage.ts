import { RetentionDays } from 'aws-cdk-lib/aws-logs';
import type { Node } from 'constructs';
import { ALERT_FORMS } from '../lambdas/env.ts';
import { readStageContext } from './stage-context.ts';

const STAGES = {
  dev: { protectData: false, isAlarmed: false, retention: RetentionDays.ONE_WEEK },
  prod: { protectData: true, isAlarmed: true, retention: RetentionDays.ONE_MONTH },
};

/**
 * Reads the stage from the CDK context: the options (stage-context.ts), and what follows from them.
 * @throws ConfigurationError on an invalid option
 */
export const readStage = (node: Node) => {
  const { stage: name, memory: memoryMb, traceparent, ...context } = readStageContext(node);
  const { alarmEmail, alertSlack, alertWebhook, domainName, certificateArn } = context;
  const { firewallRate, otlpEndpoint, otlpHeaders, restRate, restBurst } = context;
  const { protectData, isAlarmed, retention } = STAGES[name];
  const receivers = {
    email: alarmEmail !== undefined,
    slack: alertSlack === 'secret',
    webhook: alertWebhook !== undefined,
  };
  const alertForms = ALERT_FORMS.filter((form) => receivers[form]);
  return {
    ...{ ...context, name, memoryMb, alertForms },
    /** Keeps data after `cdk destroy`, protects it from deletion and makes it restorable: in prod. */
    protectData,
    logRetention: context.logRetention ?? retention,
    /** Whether alarms notify a topic. Its KMS key costs $1 a month: in dev only for a receiver. */
    sendsAlarms: isAlarmed || alertForms.length > 0,
    domain:
      domainName === undefined || certificateArn === undefined
        ? undefined
        : { name: domainName, certificateArn },
    passesTraceparent: traceparent === 'pass',
    /** The OTLP collector of all records. */
    otlp: otlpEndpoint === undefined ? undefined : { endpoint: otlpEndpoint, headers: otlpHeaders },
    /** Of the REST API. 1,000 environments at 5 s per response serve 200 requests per second: a rate above 1,000 is a flood. */
    restThrottle: { rate: restRate, burst: restBurst ?? 2 * restRate },
    // WAF cannot protect a Function URL, which would bypass it.
    hasFunctionUrl: context.functionUrl === 'on' && firewallRate === undefined,
    /** Names of existing tables; the stack creates the others. */
    existingTables: {
      keys: context.keysTable,
      plans: context.plansTable,
      projects: context.projectsTable,
      meters: context.metersTable,
      records: context.recordsTable,
      history: context.historyTable,
    },
    existingSecret: context.upstreamSecret,
    existingUserPool: context.userPool,
    tags: context.tags ?? {},
    corsOrigins: context.corsOrigins ?? [],
    hasWebFunction: context.webFunction === 'on',
    hasConsole: context.dashboard === 'cognito',
  };
};

/** The settings in which deployments of the stack differ. */
export type Stage = ReturnType<typeof readStage>;
