import * as z from 'zod';
import type { Sign } from './admin-client.ts';
import { CliError, messageOf } from './cli-error.ts';

const TIMEOUT_MS = 10_000;

/** The user pool of a stack's console, and how to call it. */
export type UserPoolApi = {
  /** Address of Cognito's API in the stack's region. */
  endpoint: string;
  sign: Sign;
  /** Undefined if the stack has no console. */
  id: string | undefined;
};

/** An error of Cognito, with its name. */
export class UserPoolError extends CliError {
  readonly type: string;

  constructor(type: string, message: string) {
    super(1, message);
    this.type = type;
  }
}

const Failure = z.object({ __type: z.string().default(''), message: z.string().default('') });

/** Calls an operation of the pool. @throws UserPoolError, or CliError 1 without a pool or a response */
export const callUserPool = async <T>(
  { endpoint, sign, id }: UserPoolApi,
  operation: string,
  fields: object,
  schema: z.ZodType<T>,
): Promise<T> => {
  if (id === undefined) throw new CliError(1, 'The stack has no console: it has dashboard=off.');
  const url = new URL(endpoint);
  const body = JSON.stringify({ UserPoolId: id, ...fields });
  const unsigned = {
    host: url.host,
    'content-type': 'application/x-amz-json-1.1',
    'x-amz-target': `AWSCognitoIdentityProviderService.${operation}`,
  };
  const { host: _, ...headers } = await sign({ method: 'POST', url, headers: unsigned, body });
  const signal = AbortSignal.timeout(TIMEOUT_MS);
  const response = await fetch(url, {
    method: 'POST',
    headers,
    body,
    redirect: 'error',
    signal,
  }).catch((cause: unknown) => {
    throw new CliError(1, `No response from Cognito: ${messageOf(cause)}`, { cause });
  });
  const value: unknown = await response.json().catch(() => ({}));
  if (response.ok) return schema.parse(value);
  const { __type: type, message } = Failure.parse(value);
  throw new UserPoolError(
    type.slice(type.indexOf('#') + 1),
    `Cognito rejected ${operation} with ${response.status}: ${message || type}`,
  );
};
