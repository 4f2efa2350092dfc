import { RetentionDays } from 'aws-cdk-lib/aws-logs';
import type { Node } from 'constructs';
import * as z from 'zod';
import { DEFAULT_MAX_SERIES } from '../lambdas/metrics.ts';
import { ConfigurationError } from './configuration-error.ts';

/**
 * The page that alarm descriptions link: this project's docs/operations.md. A fork or a private copy
 * sets the stage option `runbookUrl` instead.
 */
const DEFAULT_RUNBOOK_URL =
  'https://github.com/model-router/model-router/blob/main/docs/operations.md';

/** An https URL to which `#anchor` is appended. 500 characters keep a description below 1,024. */
const RunbookUrl = z
  .url({ protocol: /^https$/, error: 'must be an https URL' })
  .max(500)
  .refine((url) => !url.includes('#'), { message: 'must not have a fragment (#…)' });

const RETENTION_DAYS = Object.values(RetentionDays).filter((days) => typeof days === 'number');

/**
 * A number, or digits, as the CLI passes it. Not `z.coerce`, which takes an empty text for 0: the
 * variable that a script forgot to set would pull the kill switch.
 */
const WholeNumber = z.union(
  [
    z.int(),
    z
      .string()
      .regex(/^\d{1,15}$/)
      .transform(Number),
  ],
  {
    error: 'must be a whole number',
  },
);

const StageContext = z
  .strictObject({
    stage: z.enum(['dev', 'prod']).default('dev'),
    /** Also the kill switch: 0 refuses every request. */
    reservedConcurrency: WholeNumber.pipe(z.int().min(0).max(100_000)).optional(),
    /** The account's own limit, for the alarm that says that it comes near. */
    accountConcurrency: WholeNumber.pipe(z.int().min(1)).default(1000),
    /** Days that log lines are kept, as CloudWatch offers them: 1, 3, 5, 7, 14, 30, 60, 90 … */
    logRetention: WholeNumber.refine((days) => RETENTION_DAYS.some((offered) => offered === days), {
      message: `must be one of ${RETENTION_DAYS.join(', ')}`,
    }).optional(),
    /** Who hears of alarms; has to confirm by e-mail. */
    alarmEmail: z.email().optional(),
    /** URL of the page with the runbooks; its headings are the ids of the alarms. */
    runbookUrl: RunbookUrl.default(DEFAULT_RUNBOOK_URL),
    /** A name of your own for the REST API, and its certificate in the stack's region. */
    domainName: z.hostname().optional(),
    certificateArn: z.string().startsWith('arn:').optional(),
    /** Requests within five minutes from one address, above which the firewall refuses it. */
    firewallRate: WholeNumber.pipe(z.int().min(10).max(2_000_000_000)).optional(),
    /** The most custom metrics of the stage, $0.30 a month each; models beyond them are `other`. */
    maxSeries: WholeNumber.pipe(z.int().min(1).max(100_000)).default(DEFAULT_MAX_SERIES),
    /** A Lambda Web Function beside the other front doors. */
    webFunction: z.enum(['on', 'off']).default('off'),
  })
  .refine(
    ({ domainName, certificateArn }) =>
      (domainName === undefined) === (certificateArn === undefined),
    {
      path: ['domainName'],
      message: 'domainName and certificateArn go together',
    },
  )
  .refine(({ webFunction, firewallRate }) => webFunction === 'off' || firewallRate === undefined, {
    path: ['webFunction'],
    message: 'no firewall can stand in front of a Web Function',
  });
export type StageContext = z.infer<typeof StageContext>;

/** CDK's own names have colons, slashes or dashes (`aws:cdk:…`, `@aws-cdk/…`, `cli-telemetry`). */
const OPTION_NAME = /^[A-Za-z]+$/;
/** Read elsewhere: read-catalog.ts. */
const CATALOG = 'catalog';

/**
 * The options that `cdk … -c name=value` and cdk.json give a stage. A name that nobody reads is refused: a
 * misspelt `reservedConcurrency=0` must not deploy in silence.
 * @throws ConfigurationError that names every option which is wrong
 */
export const readStageContext = (node: Node): StageContext => {
  const all: Record<string, unknown> = node.getAllContext();
  const given = Object.entries(all).filter(([name]) => OPTION_NAME.test(name) && name !== CATALOG);
  const parsed = StageContext.safeParse(Object.fromEntries(given));
  if (parsed.success) return parsed.data;
  throw new ConfigurationError(`The stage is not valid.\n${z.prettifyError(parsed.error)}`);
};
