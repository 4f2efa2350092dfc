import { CloudFormationClient, DescribeStacksCommand } from '@aws-sdk/client-cloudformation';
import { SignatureV4 } from '@smithy/signature-v4';
import type { Sign } from './admin-client.ts';
import { CliError, messageOf } from './cli-error.ts';

/** Overrides of the standard AWS environment variables and configuration files. */
export type AwsOptions = { region?: string | undefined; profile?: string | undefined };

/** The SDK takes an undefined member for a value. */
const givenOf = ({ region, profile }: AwsOptions) => ({
  ...(region !== undefined && { region }),
  ...(profile !== undefined && { profile }),
});

const OUTPUT = 'RestApiUrl';

const withCliError = async <T>(failure: string, call: () => Promise<T>): Promise<T> => {
  try {
    return await call();
  } catch (cause) {
    throw new CliError(1, `${failure}: ${messageOf(cause)}`, { cause });
  }
};

/** Creates a CloudFormation client; its configuration also provides credentials to the signer. */
export const createAwsClient = (options: AwsOptions): CloudFormationClient =>
  new CloudFormationClient(givenOf(options));

/**
 * Returns the URL of the stack's REST API and all outputs.
 * @throws CliError 1 if CloudFormation rejects the call or the stack is not a model-router stack
 */
export const findRouter = async (
  client: CloudFormationClient,
  stack: string,
): Promise<{ baseUrl: string; outputs: Record<string, string> }> => {
  const { Stacks = [] } = await withCliError(`Cannot look up stack ${stack}`, () =>
    client.send(new DescribeStacksCommand({ StackName: stack })),
  );
  const outputs = Object.fromEntries(
    (Stacks[0]?.Outputs ?? []).map(({ OutputKey = '', OutputValue = '' }) => [
      OutputKey,
      OutputValue,
    ]),
  );
  const baseUrl = outputs[OUTPUT];
  if (baseUrl !== undefined) return { baseUrl, outputs };
  throw new CliError(1, `Stack ${stack} is not a model-router stack (no output ${OUTPUT}).`);
};

/** Address of a service in the client's region; `AWS_ENDPOINT_URL_…` overrides it, as in the SDKs. */
export const serviceEndpoint = async (
  { config }: CloudFormationClient,
  service: 'lambda',
  override: string | undefined,
): Promise<string> => override ?? `https://${service}.${await config.region()}.amazonaws.com`;

/** Signs requests to a service with the client's credentials and region. */
export const createSigner = (
  client: CloudFormationClient,
  service: 'execute-api' | 'lambda',
): Sign => {
  const { credentials, region, sha256 } = client.config;
  const signer = new SignatureV4({ service, region, credentials, sha256 });
  return async ({ method, url, headers, body }) => {
    const request = {
      method,
      protocol: url.protocol,
      hostname: url.hostname,
      path: url.pathname,
      query: Object.fromEntries(url.searchParams),
      headers,
      ...(body !== '' && { body }),
    };
    return (await withCliError('Cannot sign the request', () => signer.sign(request))).headers;
  };
};

/** Reads a secret of the operator's account. @throws CliError 1 */
export const readSecretOf = async (id: string, options: AwsOptions): Promise<string> => {
  const { GetSecretValueCommand, SecretsManagerClient } = await import(
    '@aws-sdk/client-secrets-manager'
  );
  const client = new SecretsManagerClient(givenOf(options));
  const { SecretString = '' } = await withCliError(`Cannot read the secret ${id}`, () =>
    client.send(new GetSecretValueCommand({ SecretId: id })),
  );
  return SecretString;
};
