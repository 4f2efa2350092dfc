import { parseArgs } from 'node:util';
import { PROGRAM } from '#program';
import type { Receiver } from '../lambdas/alerts/deliver.ts';
import { readHeaders } from '../lambdas/otlp/post.ts';
import { readSigningSecret } from '../lambdas/webhooks/sign.ts';
import { fixable, UsageError } from './usage-error.ts';

/** Environment variable with the secret of the operator of a router that other machines reach. */
const ADMIN_SECRET = 'MODEL_ROUTER_ADMIN_SECRET';
const ALERT_SECRET = 'MODEL_ROUTER_ALERT_SECRET';

const COMMANDS = `
Commands:
  ${PROGRAM.start} [options]          starts the router
  ${PROGRAM.admin} ...          projects, plans, keys, usage, requests; --help lists them
  ${PROGRAM.connect} CLIENT       prints the configuration of a client
  ${PROGRAM.start} completion SHELL   prints a script that completes commands in bash, zsh or fish
  ${PROGRAM.import} FORMAT FILE  reads the configuration of LiteLLM, or OpenRouter's list of models
  ${PROGRAM.start} deploy [options]   deploys it to AWS with the CDK of a checkout
`;

export const USAGE = `Usage: ${PROGRAM.start} [options]
${PROGRAM.isPacked ? COMMANDS : ''}
  --port N         port (default: PORT, or 8787; 0: any free one)
  --host ADDRESS   address to listen on (default: the loopback address 127.0.0.1). Another one requires an
                   admin secret of 16 characters or more in ${ADMIN_SECRET}
  --data DIR       keep keys, plans, counters, records and kept responses in this folder
  --catalog FILE   your models and upstreams
  --secrets FILE   JSON object: credentials by the names that the catalog uses
  --otlp URL       export each request as spans and metrics to an OpenTelemetry collector, e.g.
                   http://127.0.0.1:4318; headers in OTEL_EXPORTER_OTLP_HEADERS
  --alerts URL     send alerts, signed by the rules of standard-webhooks with the secret whsec_… in
                   ${ALERT_SECRET}
  --slack URL      send alerts in the form of Slack's incoming webhooks
  --inner-webhooks webhooks of projects may be at http:// and at addresses of this machine and its network
  --delay MS       delay of the embedded upstream before every word (default: 15)
  --json           print one line {"baseUrl","key"} when ready, and nothing else
  --version        print the version
  --help           print this help`;

const DEFAULT_PORT = '8787';
const DEFAULT_HOST = '127.0.0.1';
/** Slow enough to see the words stream in. */
const DEFAULT_DELAY_MS = '15';

const MAX_PORT = 65_535;
const MAX_DELAY_MS = 10_000;
const MIN_SECRET_LENGTH = 16;

const readNumber = (text: string, name: string, max: number): number => {
  if (/^\d+$/.test(text) && Number(text) <= max) return Number(text);
  throw new UsageError(`Invalid ${name} '${text}': must be a whole number from 0 to ${max}.`);
};

const OPTIONS = {
  port: { type: 'string' },
  host: { type: 'string', default: DEFAULT_HOST },
  data: { type: 'string' },
  otlp: { type: 'string' },
  alerts: { type: 'string' },
  slack: { type: 'string' },
  'inner-webhooks': { type: 'boolean', default: false },
  catalog: { type: 'string' },
  secrets: { type: 'string' },
  delay: { type: 'string', default: DEFAULT_DELAY_MS },
  json: { type: 'boolean', default: false },
  version: { type: 'boolean', default: false },
  help: { type: 'boolean', short: 'h', default: false },
} as const;

const parse = (args: string[]) =>
  fixable(
    () => parseArgs({ args, options: OPTIONS }).values,
    (message) => `${message}\n\n${USAGE}`,
  );

const readOwnFiles = ({ catalog, secrets }: { catalog?: string; secrets?: string }) => {
  if (catalog !== undefined) return { catalog, secrets };
  if (secrets === undefined) return undefined;
  throw new UsageError('--secrets requires --catalog.');
};

const LOOPBACK = /^(?:127(?:\.\d{1,3}){3}|localhost|::1)$/;

/** Undefined for a loopback address: everyone who reaches it is the operator. */
const readSecret = (host: string, secret: string | undefined): string | undefined => {
  if (secret && secret.length >= MIN_SECRET_LENGTH) return secret;
  if (secret)
    throw new UsageError(`${ADMIN_SECRET} must have ${MIN_SECRET_LENGTH} characters or more.`);
  if (LOOPBACK.test(host)) return undefined;
  throw new UsageError(
    `Other machines reach ${host}: set ${ADMIN_SECRET} to a secret of ${MIN_SECRET_LENGTH} characters or more, which the console and the admin API then require.`,
  );
};

type Env = {
  PORT?: string | undefined;
  [ADMIN_SECRET]?: string | undefined;
  [ALERT_SECRET]?: string | undefined;
  OTEL_EXPORTER_OTLP_HEADERS?: string | undefined;
};

const readAddress = (url: string, name: string, example = 'https://example.com'): string => {
  if (URL.canParse(url) && /^https?:$/.test(new URL(url).protocol)) return url;
  throw new UsageError(`Invalid ${name} '${url}': must be an address such as ${example}.`);
};

const readCollector = (url: string | undefined, { OTEL_EXPORTER_OTLP_HEADERS = '' }: Env) => {
  if (url === undefined) return undefined;
  const endpoint = readAddress(url, '--otlp', 'http://127.0.0.1:4318');
  const headers = fixable(
    () => readHeaders(OTEL_EXPORTER_OTLP_HEADERS),
    (message) => `OTEL_EXPORTER_OTLP_HEADERS: ${message}`,
  );
  return { endpoint, headers };
};

const readReceivers = (
  { alerts, slack }: { alerts?: string | undefined; slack?: string | undefined },
  { [ALERT_SECRET]: secret = '' }: Env,
): Receiver[] => {
  const receivers: Receiver[] = [];
  if (slack !== undefined) receivers.push({ form: 'slack', url: readAddress(slack, '--slack') });
  if (alerts === undefined) return receivers;
  fixable(
    () => readSigningSecret(secret),
    (message) => `${ALERT_SECRET}: ${message}`,
  );
  return [...receivers, { form: 'webhook', url: readAddress(alerts, '--alerts'), secret }];
};

/** @throws UsageError for an unknown option, a value out of range, secrets without a catalog, an address without a secret, or an invalid header or secret of a receiver */
export const readOptions = (args: string[], env: Env) => {
  const { port, host, data, otlp, delay, json, help, version, alerts, slack, ...rest } =
    parse(args);
  const { 'inner-webhooks': mayReachInner, ...files } = rest;
  if (data === '') throw new UsageError('--data must name a folder.');
  return {
    port:
      port === undefined
        ? readNumber(env.PORT || DEFAULT_PORT, 'PORT', MAX_PORT)
        : readNumber(port, '--port', MAX_PORT),
    host,
    /** Set if `host` is not a loopback address. */
    adminSecret: help || version ? undefined : readSecret(host, env[ADMIN_SECRET]),
    /** Folder of the data; without it none is kept. */
    data,
    /** Base address of the OTLP collector that gets all records, and the headers that it requires. */
    otlp: readCollector(otlp, env),
    receivers: readReceivers({ alerts, slack }, env),
    /** Whether webhooks reach this machine and its network. */
    mayReachInner,
    delayMs: readNumber(delay, '--delay', MAX_DELAY_MS),
    json,
    help,
    version,
    /** Paths of the user's catalog and of the credentials that it names. */
    ownFiles: readOwnFiles(files),
  };
};
export type CliOptions = ReturnType<typeof readOptions>;
