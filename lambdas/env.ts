import * as s from './support/schema.ts';
import { STATE_MODES } from './tables.ts';

/** DynamoDB and S3 accept no shorter names. */
const Name = s.checked(s.string, ({ length }) => length >= 3, 'must have at least 3 characters');
const WholeNumber = s.matching(/^[1-9]\d*$/, 'must be a whole number above 0');

/** The physical names of the tables that the router and the admin function share. */
const TableEnv = {
  KEYS_TABLE: Name,
  PLANS_TABLE: Name,
  METERS_TABLE: Name,
  RECORDS_TABLE: Name,
  HISTORY_TABLE: Name,
};

/** The same by their logical names. */
export const tableNamesIn = (env: Record<keyof typeof TableEnv, string>) => ({
  keys: env.KEYS_TABLE,
  plans: env.PLANS_TABLE,
  meters: env.METERS_TABLE,
  records: env.RECORDS_TABLE,
  history: env.HISTORY_TABLE,
});

/** CONTRACT with lib/: the environment variables of the router function. */
export const RouterEnv = s.object({
  /** Name of the stage, on every metric. */
  STAGE: s.nonEmpty,
  /** Stage option `maxSeries`: the dashboard and the function must fold the same models. */
  MAX_SERIES: WholeNumber,
  /** Stage option `corsOrigins`, separated by spaces. */
  CORS_ORIGINS: s.withDefault(s.string, ''),
  ...TableEnv,
  /** Stage option `recordDays`. */
  RECORD_DAYS: WholeNumber,
  /** Stage option `countTokens`. */
  COUNT_TOKENS: s.exactOptional(s.oneOf(['estimate', 'provider'])),
  /** Stage option `traceparent`. */
  TRACEPARENT: s.withDefault(s.oneOf(['keep', 'pass']), 'keep'),
  /** Stage option `who`. */
  WHO: s.exactOptional(s.oneOf(['plain', 'hash'])),
  /** Absent if the stage keeps no responses. */
  ANSWERS_TABLE: s.exactOptional(Name),
  /** Name of the bucket for responses above the size of an item; present with the table. */
  ANSWERS_BUCKET: s.exactOptional(Name),
  /** Stage option `replayHours`. */
  REPLAY_HOURS: s.exactOptional(WholeNumber),
  /** Stage options `state` and `stateDays`. */
  STATE: s.exactOptional(s.oneOf(STATE_MODES)),
  STATE_DAYS: s.exactOptional(WholeNumber),
  /** Name or ARN of the secret whose JSON object holds one credential per field. */
  UPSTREAM_SECRET: s.nonEmpty,
});
/** Field of the upstream secret with the key of those hashes. */
export const WHO_KEY = 'who_key';
export type RouterEnv = s.Infer<typeof RouterEnv>;

/** Field of the upstream secret with the headers of the OTLP collector, in the form of `OTEL_EXPORTER_OTLP_HEADERS`. */
export const OTLP_HEADERS = 'collector_headers';

/** CONTRACT with lib/: the environment variables of the function that exports records. */
export const otlpEnv = () =>
  s.object({
    STAGE: s.nonEmpty,
    /** Stage option `otlpEndpoint`. */
    ENDPOINT: s.nonEmpty,
    /** Whether the collector's headers are in the upstream secret. */
    HEADERS: s.oneOf(['none', 'secret']),
    /** Of the router. */
    VERSION: s.nonEmpty,
    UPSTREAM_SECRET: s.nonEmpty,
  });
export type OtlpEnv = s.Infer<ReturnType<typeof otlpEnv>>;

/** Who gets alerts; each has a message group in their queue. */
export const ALERT_FORMS = ['email', 'slack', 'webhook'] as const;
export type AlertForm = (typeof ALERT_FORMS)[number];
/** Fields of the upstream secret: Slack's address is a secret itself, and the webhooks' signing secret is `whsec_…`. */
export const ALERT_SLACK_URL = 'slack_url';
export const ALERT_WEBHOOK_SECRET = 'signing_secret';

/** CONTRACT with lib/: the environment variables of the function that sends alerts. */
export const alertsEnv = () =>
  s.object({
    /** Of `ALERT_FORMS`, separated by spaces. */
    FORMS: s.nonEmpty,
    /** Stage option `alertWebhook`. */
    WEBHOOK_URL: s.exactOptional(s.checked(s.string, URL.canParse, 'must be a URL')),
    /** The alarms' topic, which sends e-mail. */
    TOPIC: s.nonEmpty,
    QUEUE_URL: s.nonEmpty,
    HISTORY_TABLE: Name,
    /** Stage option `runbookUrl`. */
    RUNBOOK_URL: s.nonEmpty,
    UPSTREAM_SECRET: s.nonEmpty,
  });
export type AlertsEnv = s.Infer<ReturnType<typeof alertsEnv>>;

/** The page that alarms and the console link: docs/operations.md. A fork or a private copy sets the stage option `runbookUrl`. */
export const DEFAULT_RUNBOOK_URL =
  'https://github.com/model-router/model-router/blob/main/docs/operations.md';

/** CONTRACT with lib/: the environment variables of the admin function. A function, which the router's bundle leaves out. */
export const adminEnv = () =>
  s.object({
    /** Name of the stage, on every metric. */
    STAGE: s.nonEmpty,
    /** Stage option `state`, which the doctor shows. */
    STATE: s.exactOptional(s.oneOf(STATE_MODES)),
    ...TableEnv,
    PROJECTS_TABLE: Name,
    /** The secret with the providers' credentials, for the doctor's calls. */
    UPSTREAM_SECRET: s.nonEmpty,
    /** Files of the console, from the folder of the code. Absent if the stage has no console. */
    CONSOLE_FILES: s.exactOptional(s.nonEmpty),
    /** Folder of script and style in the page's addresses: a path of the REST API that streams. @default `dashboard` */
    CONSOLE_FOLDER: s.exactOptional(s.nonEmpty),
    /** Host of the managed login, and the client that the page is. */
    SIGN_IN_DOMAIN: s.exactOptional(s.nonEmpty),
    SIGN_IN_CLIENT: s.exactOptional(s.nonEmpty),
    /** Id of the pool of the console's users. */
    USER_POOL: s.exactOptional(s.nonEmpty),
    /** Base address for callers, in the console's code. Absent: the REST API. */
    CALLER_URL: s.exactOptional(s.checked(s.string, URL.canParse, 'must be a URL')),
    /** Stage option `runbookUrl`, which the console links. */
    RUNBOOK_URL: s.exactOptional(s.checked(s.string, URL.canParse, 'must be a URL')),
  });
export type AdminEnv = s.Infer<ReturnType<typeof adminEnv>>;

/** CONTRACT with lib/: the environment variables of the function that streams the console's files; as the admin function's. */
export const consoleEnv = () =>
  s.object({
    STAGE: s.nonEmpty,
    CONSOLE_FILES: s.nonEmpty,
    SIGN_IN_DOMAIN: s.nonEmpty,
    SIGN_IN_CLIENT: s.nonEmpty,
  });
export type ConsoleEnv = s.Infer<ReturnType<typeof consoleEnv>>;

/** @throws Error that names every missing or invalid variable */
export const readEnv = <Env>(variables: s.Schema<Env>, env: unknown): Env =>
  s.parse(variables, env, 'The environment');

type Variables = Record<string, string | undefined>;

const HTTP_ENDPOINT = /^(?<host>.+):(?<port>\d{1,5})$/;

/** Host and port of a Web Function. @throws Error if the platform did not set them */
export const readHttpEndpoint = (env: Variables): { host: string; port: number } => {
  const { host, port } = HTTP_ENDPOINT.exec(env.AWS_LAMBDA_HTTP_ENDPOINT ?? '')?.groups ?? {};
  if (!host || !port) throw new Error('AWS_LAMBDA_HTTP_ENDPOINT is not host:port.');
  return { host, port: Number(port) };
};
