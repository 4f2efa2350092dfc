import { CloudFormationClient, DescribeStacksCommand } from '@aws-sdk/client-cloudformation';
import { SignatureV4 } from '@smithy/signature-v4';
import type { Sign } from './admin-client.ts';
import { CliError, messageOf } from './cli-error.ts';

/** Beside what the standard AWS variables and files say. */
export type AwsChoice = { region?: string | undefined; profile?: string | undefined };

const OUTPUT = 'RestApiUrl';

const onAws = async <T>(what: string, ask: () => Promise<T>): Promise<T> => {
  try {
    return await ask();
  } catch (cause) {
    throw new CliError(1, `${what}: ${messageOf(cause)}`, { cause });
  }
};

export const createAwsClient = ({ region, profile }: AwsChoice): CloudFormationClient =>
  new CloudFormationClient({
    ...(region !== undefined && { region }),
    ...(profile !== undefined && { profile }),
  });

/** Address of the stack's REST API. @throws CliError 1 */
export const findRestApi = async (client: CloudFormationClient, stack: string): Promise<string> => {
  const { Stacks = [] } = await onAws(`Cannot look up the stack ${stack}`, () =>
    client.send(new DescribeStacksCommand({ StackName: stack })),
  );
  const outputs = Stacks[0]?.Outputs ?? [];
  const url = outputs.find(({ OutputKey }) => OutputKey === OUTPUT)?.OutputValue;
  if (url !== undefined) return url;
  throw new CliError(1, `The stack ${stack} has no output ${OUTPUT}: it is no model router.`);
};

/** Signs for API Gateway with the credentials and the region that the client found. */
export const createSigner = (client: CloudFormationClient): Sign => {
  const { credentials, region, sha256 } = client.config;
  const signer = new SignatureV4({ service: 'execute-api', region, credentials, sha256 });
  return async ({ method, url, headers, body }) => {
    const request = {
      method,
      protocol: url.protocol,
      hostname: url.hostname,
      path: url.pathname,
      query: {},
      headers,
      ...(body !== '' && { body }),
    };
    return (await onAws('Cannot sign the request', () => signer.sign(request))).headers;
  };
};
