import { CloudFormationClient, DescribeStacksCommand } from '@aws-sdk/client-cloudformation';
import { SignatureV4 } from '@smithy/signature-v4';
import type { Sign } from './admin-client.ts';
import { CliError, messageOf } from './cli-error.ts';

/** Overrides of the standard AWS environment variables and configuration files. */
export type AwsOptions = { region?: string | undefined; profile?: string | undefined };

const OUTPUT = 'RestApiUrl';

const withCliError = async <T>(failure: string, call: () => Promise<T>): Promise<T> => {
  try {
    return await call();
  } catch (cause) {
    throw new CliError(1, `${failure}: ${messageOf(cause)}`, { cause });
  }
};

/** Creates a CloudFormation client; its configuration also provides credentials to the signer. */
export const createAwsClient = ({ region, profile }: AwsOptions): CloudFormationClient =>
  new CloudFormationClient({
    ...(region !== undefined && { region }),
    ...(profile !== undefined && { profile }),
  });

/**
 * Returns the URL of the stack's REST API.
 * @throws CliError 1 if CloudFormation rejects the call or the stack is not a model-router stack
 */
export const findRestApi = async (client: CloudFormationClient, stack: string): Promise<string> => {
  const { Stacks = [] } = await withCliError(`Cannot look up stack ${stack}`, () =>
    client.send(new DescribeStacksCommand({ StackName: stack })),
  );
  const outputs = Stacks[0]?.Outputs ?? [];
  const url = outputs.find(({ OutputKey }) => OutputKey === OUTPUT)?.OutputValue;
  if (url !== undefined) return url;
  throw new CliError(1, `Stack ${stack} is not a model-router stack (no output ${OUTPUT}).`);
};

/** Signs requests to API Gateway with the client's credentials and region. */
export const createSigner = (client: CloudFormationClient): Sign => {
  const { credentials, region, sha256 } = client.config;
  const signer = new SignatureV4({ service: 'execute-api', region, credentials, sha256 });
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
