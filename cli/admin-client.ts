import * as z from 'zod';
import { addressOf, methodOf, OPERATIONS, type OperationName } from '../lambdas/operations.ts';
import { CliError, messageOf } from './cli-error.ts';

export type AdminRequest = { method: 'GET' | 'POST'; path: string; body?: unknown };
export type UnsignedRequest = {
  method: string;
  url: URL;
  headers: Record<string, string>;
  body: string;
};
/**
 * Returns the headers to send, with the signature. Implemented by createSigner (deployed-stack.ts).
 */
export type Sign = (request: UnsignedRequest) => Promise<Record<string, string>>;

/** A read and `reconcile`, which needs no body, have members in their query, the others in their body. */
export const requestFor = (
  operation: OperationName,
  parameters: Record<string, string> = {},
  members: Record<string, unknown> = {},
): AdminRequest => {
  const [method, [kind]] = [methodOf(operation), OPERATIONS[operation]];
  return kind === 'read' || operation === 'reconcile'
    ? {
        method,
        path: addressOf(operation, parameters, members),
        ...(kind !== 'read' && { body: {} }),
      }
    : { method, path: addressOf(operation, parameters), body: members };
};

/** Sends a request and returns the JSON of the response. @throws CliError 1 on any error */
export type AdminClient = (request: AdminRequest) => Promise<Record<string, unknown>>;

/** Above the REST API's timeout of 29 s, so that its error is reported instead. */
const TIMEOUT_MS = 32_000;

const ResponseBody = z.record(z.string(), z.unknown());
const ErrorBody = z.object({ error: z.object({ message: z.string() }) });
/** Errors of API Gateway and IAM that no gateway response of the stack replaces. */
const GatewayErrorBody = z.object({ message: z.string() });

const parseJson = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
};

const messageIn = (body: unknown): string | undefined =>
  ErrorBody.safeParse(body).data?.error.message ?? GatewayErrorBody.safeParse(body).data?.message;

const readResponse = async (response: Response): Promise<Record<string, unknown>> => {
  const body = parseJson(await response.text());
  const parsed = ResponseBody.safeParse(body);
  if (response.ok && parsed.success) return parsed.data;
  const requestId = response.headers.get('x-request-id');
  const reason = messageIn(body) ?? 'The response is not from a model router.';
  throw new CliError(
    1,
    `${reason} (status ${response.status}${requestId ? `, request ${requestId}` : ''})`,
  );
};

export type AdminClientOptions = {
  baseUrl: string;
  /** @default requests are not signed */
  sign?: Sign;
  /** Appended to connection errors. @default '' */
  hint?: string;
};

/** Creates a client of the admin routes below `baseUrl`. */
export const createAdminClient =
  ({ baseUrl, sign, hint = '' }: AdminClientOptions): AdminClient =>
  async ({ method, path, body }) => {
    const url = new URL(`${baseUrl.replace(/\/$/, '')}/admin${path}`);
    const text = body === undefined ? '' : JSON.stringify(body);
    const plain = { host: url.host, 'content-type': 'application/json' };
    const signed = sign ? await sign({ method, url, headers: plain, body: text }) : plain;
    // `host` is part of the signature, but fetch sets the header itself.
    const { host: _, ...headers } = signed;
    try {
      const response = await fetch(url, {
        method,
        headers,
        // Never follow a redirect: the signed headers must not reach another host.
        redirect: 'error',
        signal: AbortSignal.timeout(TIMEOUT_MS),
        ...(body !== undefined && { body: text }),
      });
      return await readResponse(response);
    } catch (cause) {
      if (cause instanceof CliError) throw cause;
      const reason = cause instanceof Error && cause.cause ? cause.cause : cause;
      throw new CliError(1, `No response from ${url.origin}: ${messageOf(reason)}.${hint}`, {
        cause,
      });
    }
  };

/** Reads the pages of a list, one after the other. */
export async function* pagesOf(
  client: AdminClient,
  request: AdminRequest,
): AsyncGenerator<Record<string, unknown>, void, void> {
  let path: string | undefined = request.path;
  while (path !== undefined) {
    const page: Record<string, unknown> = await client({ ...request, path });
    yield page;
    const { next_cursor: cursor } = page;
    const separator = request.path.includes('?') ? '&' : '?';
    path =
      typeof cursor === 'string'
        ? `${request.path}${separator}cursor=${encodeURIComponent(cursor)}`
        : undefined;
  }
}

/** All pages as one response. */
export const allPages = async (client: AdminClient, request: AdminRequest) => {
  const data: Record<string, unknown>[] = [];
  let last: Record<string, unknown> = {};
  for await (const page of pagesOf(client, request)) {
    last = page;
    if (Array.isArray(page.data)) data.push(...page.data);
  }
  return { ...last, data };
};
