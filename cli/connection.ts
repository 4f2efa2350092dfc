import { PROGRAM } from '#program';
import { type AdminClient, type AdminClientOptions, createAdminClient } from './admin-client.ts';
import type { Check } from './check.ts';
import { CliError, usageError } from './cli-error.ts';
import type { Options } from './options.ts';

export type Connection = {
  send: AdminClient;
  /** Its public endpoints, by name. */
  addresses: Record<string, string>;
  /** Checks of the AWS account; none for a router without a stack. */
  checkQuotas(): Promise<Check[]>;
};

export type Env = Record<string, string | undefined>;

const LOCAL_URL = 'http://127.0.0.1:8787';
const START_HINT = ` Is \`${PROGRAM.router}\` running? Use --url or --stack to connect elsewhere.`;
/** Names the operator of a router that listens beyond the loopback address (local/options.ts). */
const ADMIN_SECRET = 'MODEL_ROUTER_ADMIN_SECRET';
const LOOPBACK = /^(?:127\.0\.0\.1|localhost|\[::1\])$/;

const ENDPOINTS = {
  RestApiUrl: 'REST API',
  FunctionUrl: 'Function URL',
  CustomUrl: 'custom domain',
  WebFunctionUrl: 'Web Function',
};

const addressesIn = (outputs: Record<string, string>): Record<string, string> =>
  Object.fromEntries(
    Object.entries(ENDPOINTS).flatMap(([output, name]) =>
      outputs[output] === undefined ? [] : [[name, outputs[output]]],
    ),
  );

const connectTo = async (baseUrl: string, { url, region, profile }: Options, env: Env) => {
  const connection = (of: Omit<AdminClientOptions, 'baseUrl'>): Connection => ({
    send: createAdminClient({ baseUrl, ...of }),
    addresses: { router: baseUrl },
    checkQuotas: async () => [],
  });
  const { [ADMIN_SECRET]: secret } = env;
  if (secret) {
    const authorization = `Bearer ${secret}`;
    return connection({ sign: async ({ headers }) => ({ ...headers, authorization }) });
  }
  if (LOOPBACK.test(new URL(baseUrl).hostname)) {
    return connection(url === undefined ? { hint: START_HINT } : {});
  }
  const { createAwsClient, createSigner } = await import('./deployed-stack.ts');
  return connection({ sign: createSigner(createAwsClient({ region, profile }), 'execute-api') });
};

const connectToStack = async (stack: string, { region, profile }: Options, env: Env) => {
  // Loading the AWS SDK takes 0.5 s and a local router does not need it.
  const aws = await import('./deployed-stack.ts');
  const client = aws.createAwsClient({ region, profile });
  const { baseUrl, outputs } = await aws.findRouter(client, stack);
  return {
    send: createAdminClient({ baseUrl, sign: aws.createSigner(client, 'execute-api') }),
    addresses: addressesIn(outputs),
    checkQuotas: async () => {
      const { checkLambdaQuotas } = await import('./lambda-quotas.ts');
      return checkLambdaQuotas({
        endpoint: await aws.serviceEndpoint(client, 'lambda', env.AWS_ENDPOINT_URL_LAMBDA),
        sign: aws.createSigner(client, 'lambda'),
        functionName: outputs.RouterFunctionName ?? '',
      });
    },
  };
};

/** The value of `--url`. @throws CliError 2 */
export const requireAddress = (url: string): string => {
  // `localhost:8787` is a URL too, of the scheme `localhost`.
  if (/^https?:/i.test(url) && URL.canParse(url)) return url;
  throw new CliError(2, `--url must begin with http:// or https:// (got '${url}').`);
};

/** @throws CliError 2 on invalid options, 1 if the stack cannot be found */
export const connect = async (options: Options, env: Env): Promise<Connection> => {
  const { url, stack } = options;
  if (url !== undefined && stack !== undefined) {
    throw usageError('--url and --stack are mutually exclusive.');
  }
  if (stack !== undefined) return connectToStack(stack, options, env);
  return connectTo(requireAddress(url ?? LOCAL_URL), options, env);
};
