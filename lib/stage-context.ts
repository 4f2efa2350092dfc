import { RetentionDays } from 'aws-cdk-lib/aws-logs';
import type { Node } from 'constructs';
import * as z from 'zod';
import { DEFAULT_RUNBOOK_URL } from '../lambdas/env.ts';
import { DEFAULT_MAX_SERIES } from '../lambdas/metrics.ts';
import { DEFAULT_RECORD_DAYS, MAX_RECORD_DAYS, STATE_MODES } from '../lambdas/tables.ts';
import { ConfigurationError } from './configuration-error.ts';

/** An https URL to which `#anchor` is appended. 500 characters keep a description below 1,024. */
const RunbookUrl = z
  .url({ protocol: /^https$/, error: 'must be an https URL' })
  .max(500)
  .refine((url) => !url.includes('#'), { message: 'must not have a fragment (#…)' });

const RETENTION_DAYS = Object.values(RetentionDays).filter((days) => typeof days === 'number');

/**
 * A number, or digits as the CLI passes them. Not `z.coerce`, which parses an empty string as 0: an
 * unset variable in a script would activate the kill switch.
 */
const WholeNumber = z.union(
  [
    z.int(),
    z
      .string()
      .regex(/^\d{1,15}$/)
      .transform(Number),
  ],
  { error: 'must be a whole number' },
);

/** Name of a DynamoDB table in the stack's account and region. */
const ExistingTable = z
  .string()
  .regex(/^[\w.-]{3,255}$/, 'must be the name of a DynamoDB table')
  .optional();

/** With the six characters that Secrets Manager appends: IAM policies need the complete ARN. */
const USER_POOL_ID = /^[a-z]{2}(?:-[a-z]+)+-\d_[A-Za-z\d]+$/;
const SECRET_ARN =
  /^arn:aws[\w-]*:secretsmanager:[a-z\d-]+:\d{12}:secret:[\w/+=.@-]+-[A-Za-z\d]{6}$/;
const KEY_ARN = /^arn:aws[\w-]*:kms:[a-z\d-]+:\d{12}:key\/[\w-]+$/;

const itemsOf = (text: string): string[] => text.split(',').map((item) => item.trim());

const splitTag = (pair: string): [string, string] => {
  const index = pair.indexOf('=');
  return index === -1 ? [pair, ''] : [pair.slice(0, index), pair.slice(index + 1)];
};

/** Names and values that every AWS service accepts. */
const TagOption = z
  .union([
    z.string().transform((text) => Object.fromEntries(itemsOf(text).map(splitTag))),
    z.record(z.string(), z.string()),
  ])
  .pipe(
    z.record(
      z
        .string()
        .regex(/^(?!aws:)[\w .:/=+@-]{1,128}$/, 'must be name=value, without the prefix aws:'),
      z.string().regex(/^[\w .:/=+@-]{1,256}$/, 'must be name=value'),
    ),
  );

const isOrigin = (text: string): boolean =>
  URL.canParse(text) && /^https?:/.test(text) && new URL(text).origin === text;

/** Exact origins; no `*`: a page of any site could then use a key that a browser holds. */
const OriginList = z
  .union([z.string().transform(itemsOf), z.array(z.string())])
  .pipe(
    z
      .array(z.string().refine(isOrigin, 'must be an origin: https://host, without a path'))
      .min(1)
      .max(20),
  );

/** Options as typed; a default of the whole stage is in stage.ts. */
const StageContext = z
  .strictObject({
    stage: z.enum(['dev', 'prod']).default('dev'),
    /** Also the kill switch: 0 rejects every request. */
    reservedConcurrency: WholeNumber.pipe(z.int().min(0).max(100_000)).optional(),
    /** So many environments that only the admin function uses; an account with a limit of 10 has none to give. */
    adminConcurrency: WholeNumber.pipe(z.int().min(1).max(1_000)).optional(),
    /** The account's concurrency limit, of which the alarm uses 80 %. */
    accountConcurrency: WholeNumber.pipe(z.int().min(1)).default(1000),
    /** Days that log lines are kept, 7 in dev and 30 in prod; only values of CloudWatch: 1, 3, 5, 7, 14 … */
    logRetention: WholeNumber.refine((days) => RETENTION_DAYS.some((option) => option === days), {
      message: `must be one of ${RETENTION_DAYS.join(', ')}`,
    }).optional(),
    /** Receives alarms and alerts of the log, after confirming the subscription by e-mail. */
    alarmEmail: z.email().optional(),
    /** `secret` sends the same in Slack's form to the address in the field `slack_url` of the upstream secret. */
    alertSlack: z.enum(['off', 'secret']).default('off'),
    /** Gets the same, signed with the field `signing_secret` of the upstream secret. @default none */
    alertWebhook: z.url({ protocol: /^https$/, error: 'must be an https URL' }).optional(),
    /** URL of the page with the runbooks; its anchors are the ids of the alarms. */
    runbookUrl: RunbookUrl.default(DEFAULT_RUNBOOK_URL),
    /** Custom domain of the REST API, and its certificate in the stack's region. */
    domainName: z.hostname().optional(),
    certificateArn: z.string().startsWith('arn:').optional(),
    /** Requests per IP address in five minutes above which the firewall blocks it. */
    firewallRate: WholeNumber.pipe(z.int().min(10).max(2_000_000_000)).optional(),
    /** Maximum number of custom metrics, $0.30 a month each; models beyond it are counted as `other`. */
    maxSeries: WholeNumber.pipe(z.int().min(1).max(100_000)).default(DEFAULT_MAX_SERIES),
    /**
     * Days that the record of a request is kept. The history is made of records, and catches up with an
     * interruption of its schedule that is shorter than this.
     */
    recordDays: WholeNumber.pipe(z.int().min(3).max(MAX_RECORD_DAYS)).default(DEFAULT_RECORD_DAYS),
    /** Minutes between two runs of the history: how old usage and the metrics of Prometheus are at most. */
    historyMinutes: WholeNumber.pipe(z.literal([5, 10, 15, 20, 30, 60])).default(60),
    /**
     * `provider` asks the provider of a model's first target for the counts of `count_tokens`, where it has a
     * counter; the estimate is the fallback.
     */
    countTokens: z.enum(['estimate', 'provider']).default('estimate'),
    /** `pass` sends the caller's `traceparent` header to providers; records keep it in either case. */
    traceparent: z.enum(['keep', 'pass']).default('keep'),
    /**
     * Base address of an OTLP collector that gets all records as spans and metrics, such as `https://otlp.example.com`.
     */
    otlpEndpoint: z
      .url({ protocol: /^https?$/, error: 'must be the address of an OTLP collector' })
      .optional(),
    /** `secret` sends the collector the headers in the field `collector_headers` of the upstream secret. */
    otlpHeaders: z.enum(['none', 'secret']).default('none'),
    /** `hash` keeps users, sessions and agents as hashes with the field `who_key` of the upstream secret. */
    who: z.enum(['plain', 'hash']).default('plain'),
    /** Memory of the router function in MB; CPU grows with it, and so does the price of waiting. */
    memory: WholeNumber.pipe(z.int().min(128).max(10_240)).default(256),
    /** Requests per second of all callers of the REST API together, and the largest burst: twice that. */
    restRate: WholeNumber.pipe(z.int().min(1).max(100_000)).default(1000),
    restBurst: WholeNumber.pipe(z.int().min(1).max(100_000)).optional(),
    /** `off` leaves out the Function URL, which is public and has no firewall. */
    functionUrl: z.enum(['on', 'off']).default('on'),
    /** Existing tables, e.g. restored from a backup, instead of new ones. */
    keysTable: ExistingTable,
    plansTable: ExistingTable,
    projectsTable: ExistingTable,
    metersTable: ExistingTable,
    recordsTable: ExistingTable,
    historyTable: ExistingTable,
    /** Complete ARN of an existing secret instead of a new one. */
    upstreamSecret: z.string().regex(SECRET_ARN, 'must be the complete ARN of a secret').optional(),
    /** Id of an existing user pool of the console instead of a new one. */
    userPool: z
      .string()
      .regex(USER_POOL_ID, 'must be the id of a user pool, such as eu-west-1_a1B2c3D4e')
      .optional(),
    /** ARN of a KMS key that encrypts the tables and the secret; existing ones keep their own. */
    kmsKey: z.string().regex(KEY_ARN, 'must be the ARN of a KMS key').optional(),
    /** Tags of every resource: `team=ai,cost-center=7`, or an object in cdk.json. */
    tags: TagOption.optional(),
    /** Origins of web pages that may call the router: `https://a.example,https://b.example`. */
    corsOrigins: OriginList.optional(),
    /** Hours that a response is kept for repeats with its `Idempotency-Key`; 0 rejects that header. */
    replayHours: WholeNumber.pipe(z.int().min(0).max(168)).default(24),
    /**
     * Responses that callers read and continue by their ids, for keys whose plans do not say: none, those of requests with
     * `store: true`, or those of all without `store: false`, which is the vendor's default.
     */
    state: z.enum(STATE_MODES).default('off'),
    /** Days that such a response is kept. */
    stateDays: WholeNumber.pipe(z.int().min(1).max(90)).default(30),
    /** The console at `/dashboard` of the REST API, whose users sign in to a Cognito user pool; or none. */
    dashboard: z.enum(['cognito', 'off']).default('cognito'),
    /** Adds a Lambda Web Function to the public endpoints. */
    webFunction: z.enum(['on', 'off']).default('off'),
  })
  .refine(
    ({ domainName, certificateArn }) =>
      (domainName === undefined) === (certificateArn === undefined),
    { path: ['domainName'], message: 'domainName and certificateArn must be set together' },
  )
  .refine(({ webFunction, firewallRate }) => webFunction === 'off' || firewallRate === undefined, {
    path: ['webFunction'],
    message: 'must be off with firewallRate: WAF cannot protect a Web Function',
  })
  .refine(({ state, replayHours }) => state === 'off' || replayHours > 0, {
    path: ['state'],
    message: 'must be off with replayHours=0, which leaves out its table',
  })
  .refine(({ restRate, restBurst }) => restBurst === undefined || restBurst >= restRate, {
    path: ['restBurst'],
    message: 'must not be below restRate',
  });
/**
 * Context keys of CDK contain colons, slashes or dashes (`aws:cdk:…`, `@aws-cdk/…`,
 * `cli-telemetry`).
 */
const OPTION_NAME = /^[A-Za-z]+$/;
/** Read by read-catalog.ts. */
const FILES = ['catalog', 'seed'];

/**
 * Reads the stage options of `cdk … -c name=value` and of cdk.json. Rejects unknown names: a
 * misspelt `reservedConcurrency=0` must not be ignored silently.
 * @throws ConfigurationError that names every invalid option
 */
export const readStageContext = (node: Node): z.infer<typeof StageContext> => {
  const all: Record<string, unknown> = node.getAllContext();
  const options = Object.entries(all).filter(
    ([name]) => OPTION_NAME.test(name) && !FILES.includes(name),
  );
  const parsed = StageContext.safeParse(Object.fromEntries(options));
  if (parsed.success) return parsed.data;
  throw new ConfigurationError(`Invalid stage options.\n${z.prettifyError(parsed.error)}`);
};
