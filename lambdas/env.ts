import * as z from 'zod/mini';
import { describeIssue } from './support/describe-issue.ts';

/** CONTRACT with lib/: the environment variables of the router function. */
export const RouterEnv = z.object({
  /** Name of the stage, on every metric. */
  STAGE: z.string().check(z.minLength(1)),
  /** Stage option `maxSeries`: the dashboard and the function must fold the same models. */
  MAX_SERIES: z.string().check(z.regex(/^[1-9]\d*$/, 'must be a whole number above 0')),
  /** Stage option `corsOrigins`, separated by spaces. */
  CORS_ORIGINS: z._default(z.string(), ''),
  KEYS_TABLE: z.string().check(z.minLength(3)),
  PLANS_TABLE: z.string().check(z.minLength(3)),
  METERS_TABLE: z.string().check(z.minLength(3)),
  RECORDS_TABLE: z.string().check(z.minLength(3)),
  HISTORY_TABLE: z.string().check(z.minLength(3)),
  /** Stage option `recordDays`. */
  RECORD_DAYS: z.string().check(z.regex(/^[1-9]\d*$/, 'must be a whole number above 0')),
  /** Stage option `countTokens`. */
  COUNT_TOKENS: z.exactOptional(z.enum(['estimate', 'provider'])),
  /** Stage option `traceparent`. */
  TRACEPARENT: z._default(z.enum(['keep', 'pass']), 'keep'),
  /** Absent if the stage keeps no responses. */
  ANSWERS_TABLE: z.exactOptional(z.string().check(z.minLength(3))),
  /** Name of the bucket for responses above the size of an item; present with the table. */
  ANSWERS_BUCKET: z.exactOptional(z.string().check(z.minLength(3))),
  /** Stage option `replayHours`. */
  REPLAY_HOURS: z.exactOptional(
    z.string().check(z.regex(/^[1-9]\d*$/, 'must be a whole number above 0')),
  ),
  /** Name or ARN of the secret whose JSON object holds one credential per field. */
  UPSTREAM_SECRET: z.string().check(z.minLength(1)),
});
export type RouterEnv = z.infer<typeof RouterEnv>;

/** CONTRACT with lib/: the environment variables of the admin function. A function, which the router's bundle leaves out. */
export const adminEnv = () =>
  z.object({
    /** Name of the stage, on every metric. */
    STAGE: z.string().check(z.minLength(1)),
    KEYS_TABLE: z.string().check(z.minLength(3)),
    PLANS_TABLE: z.string().check(z.minLength(3)),
    PROJECTS_TABLE: z.string().check(z.minLength(3)),
    METERS_TABLE: z.string().check(z.minLength(3)),
    RECORDS_TABLE: z.string().check(z.minLength(3)),
    HISTORY_TABLE: z.string().check(z.minLength(3)),
    /** The secret with the providers' credentials, for the doctor's calls. */
    UPSTREAM_SECRET: z.string().check(z.minLength(1)),
    /** Files of the console, from the folder of the code. Absent if the stage has no console. */
    CONSOLE_FILES: z.exactOptional(z.string().check(z.minLength(1))),
    /** Host of the managed login, and the client that the page is. */
    SIGN_IN_DOMAIN: z.exactOptional(z.string().check(z.minLength(1))),
    SIGN_IN_CLIENT: z.exactOptional(z.string().check(z.minLength(1))),
    /** Id of the pool of the console's users. */
    USER_POOL: z.exactOptional(z.string().check(z.minLength(1))),
    /** Base address for callers, in the console's code. Absent: the REST API. */
    CALLER_URL: z.exactOptional(z.url()),
  });
export type AdminEnv = z.infer<ReturnType<typeof adminEnv>>;

type Variables = Record<string, string | undefined>;

const read = <Env>(schema: z.ZodMiniType<Env>, env: Variables): Env => {
  const parsed = schema.safeParse(env, { error: describeIssue });
  if (parsed.success) return parsed.data;
  throw new Error(`The environment is not valid.\n${z.prettifyError(parsed.error)}`);
};

/** @throws Error that names every missing or invalid variable */
export const readRouterEnv = (env: Variables): RouterEnv => read(RouterEnv, env);

/** @throws Error that names every missing or invalid variable */
export const readAdminEnv = (env: Variables): AdminEnv => read(adminEnv(), env);

const HTTP_ENDPOINT = /^(?<host>.+):(?<port>\d{1,5})$/;

/** Host and port of a Web Function. @throws Error if the platform did not set them */
export const readHttpEndpoint = (env: Variables): { host: string; port: number } => {
  const { host, port } = HTTP_ENDPOINT.exec(env.AWS_LAMBDA_HTTP_ENDPOINT ?? '')?.groups ?? {};
  if (!host || !port) throw new Error('AWS_LAMBDA_HTTP_ENDPOINT is not host:port.');
  return { host, port: Number(port) };
};
