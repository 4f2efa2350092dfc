import * as z from 'zod';
import { CliError, messageOf } from './cli-error.ts';

export type AdminRequest = { method: 'GET' | 'POST'; path: string; body?: unknown };
export type Signed = { method: string; url: URL; headers: Record<string, string>; body: string };
/** Returns the headers to send instead. */
export type Sign = (request: Signed) => Promise<Record<string, string>>;

/** Sends a request and returns the answer's JSON. @throws CliError 1 */
export type AdminClient = (request: AdminRequest) => Promise<Record<string, unknown>>;

/** The REST API gives up after 29 s. */
const TIMEOUT_MS = 32_000;

const Answer = z.record(z.string(), z.unknown());
const Refusal = z.object({ error: z.object({ message: z.string() }) });
/** What API Gateway and IAM say by themselves in places that no gateway response covers. */
const PlatformRefusal = z.object({ message: z.string() });

const parseJson = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
};

const reasonIn = (body: unknown): string | undefined =>
  Refusal.safeParse(body).data?.error.message ?? PlatformRefusal.safeParse(body).data?.message;

const readAnswer = async (response: Response): Promise<Record<string, unknown>> => {
  const body = parseJson(await response.text());
  const answer = Answer.safeParse(body);
  if (response.ok && answer.success) return answer.data;
  const requestId = response.headers.get('x-request-id');
  const reason = reasonIn(body) ?? 'The answer is not from a model router.';
  throw new CliError(
    1,
    `${reason} (status ${response.status}${requestId ? `, request ${requestId}` : ''})`,
  );
};

export type AdminClientOptions = {
  baseUrl: string;
  sign?: Sign;
  /** A sentence for whom nobody answers. */
  hint?: string;
};

/** Talks to the admin routes below `baseUrl`. */
export const createAdminClient =
  ({ baseUrl, sign, hint = '' }: AdminClientOptions): AdminClient =>
  async ({ method, path, body }) => {
    const url = new URL(`${baseUrl.replace(/\/$/, '')}/admin${path}`);
    const text = body === undefined ? '' : JSON.stringify(body);
    const plain = { host: url.host, 'content-type': 'application/json' };
    const signed = sign ? await sign({ method, url, headers: plain, body: text }) : plain;
    // Signed with the rest, but fetch writes it itself.
    const { host: _, ...headers } = signed;
    try {
      const response = await fetch(url, {
        method,
        headers,
        // A signature is for one address: it must not travel on to another.
        redirect: 'error',
        signal: AbortSignal.timeout(TIMEOUT_MS),
        ...(body !== undefined && { body: text }),
      });
      return await readAnswer(response);
    } catch (cause) {
      if (cause instanceof CliError) throw cause;
      const reason = cause instanceof Error && cause.cause ? cause.cause : cause;
      throw new CliError(1, `No answer from ${url.origin}: ${messageOf(reason)}.${hint}`, {
        cause,
      });
    }
  };
