import { isRecord } from '../support/objects.ts';
import type { AwsResponse, Timeouts } from './exchange.ts';
import {
  AwsError,
  type AwsOptions,
  createSignedClient,
  type SignedClient,
} from './signed-client.ts';

type Protocol = {
  /** Name in the signature's scope. */
  service: string;
  /** Prefix of the header `x-amz-target`. */
  targetPrefix: string;
  version: '1.0' | '1.1';
  timeouts: Timeouts;
};

export type JsonService = Pick<SignedClient, 'destroy'> & {
  /** One attempt. @throws AwsError for an error of the service; any other error: outcome unknown */
  call(operation: string, input: object, signal?: AbortSignal): Promise<Record<string, unknown>>;
};

/** @throws Error if the body is not a JSON object */
const parseBody = (text: string): Record<string, unknown> => {
  const body: unknown = JSON.parse(text);
  if (!isRecord(body)) throw new Error('The response is not a JSON object.');
  return body;
};

const parseErrorBody = (text: string): Record<string, unknown> => {
  try {
    return parseBody(text);
  } catch {
    return {};
  }
};

/** `com.amazonaws.dynamodb.v20120810#Name` and `Name:http://…` are both in use. */
const nameOf = (headers: AwsResponse['headers'], { __type, code }: Record<string, unknown>) => {
  const found = headers['x-amzn-errortype'] ?? __type ?? code;
  const [name = ''] = String(found ?? 'UnknownError').split(/[:,]/, 1);
  return name.slice(name.indexOf('#') + 1);
};

const errorOf = ({ status, headers, body: bytes }: AwsResponse): AwsError => {
  const body = parseErrorBody(bytes.toString());
  return new AwsError(nameOf(headers, body), { status, body });
};

/** A service of AWS that speaks its JSON protocol: each call is a POST. */
export const createJsonService = (
  { service, targetPrefix, version, timeouts }: Protocol,
  options: AwsOptions,
): JsonService => {
  const url = new URL(options.endpoint);
  const client = createSignedClient({ service, timeouts, errorOf }, options);
  return {
    call: async (operation, input, signal) => {
      const body = JSON.stringify(input);
      const headers = {
        'content-type': `application/x-amz-json-${version}`,
        'content-length': String(Buffer.byteLength(body)),
        'x-amz-target': `${targetPrefix}.${operation}`,
      };
      const response = await client.send({ method: 'POST', url, headers, body, signal });
      return parseBody(response.body.toString());
    },
    destroy: client.destroy,
  };
};
