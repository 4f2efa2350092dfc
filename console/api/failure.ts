/** Sends a request. @throws ApiFailure without a status if no response arrives in time */
export const request = async (url: URL, init: RequestInit): Promise<Response> => {
  try {
    return await fetch(url, { cache: 'no-store', ...init });
  } catch {
    throw new ApiFailure(`No answer from ${url.origin}.`);
  }
};

/** A call without a success: the response's error, or status 0 if there was no response. */
export class ApiFailure extends Error {
  readonly status: number;
  /** The field of the body that the error is about. */
  readonly param: string | undefined;
  readonly requestId: string | undefined;

  constructor(
    message: string,
    { status = 0, param, requestId }: { status?: number; param?: string; requestId?: string } = {},
  ) {
    super(message);
    this.name = 'ApiFailure';
    this.status = status;
    this.param = param;
    this.requestId = requestId;
  }
}

type Envelope = { error?: { message?: unknown; param?: unknown } };

const messageIn = (body: unknown): Envelope['error'] =>
  typeof body === 'object' && body !== null ? (body as Envelope).error : undefined;

const SIGNED_OUT = 'The sign-in has ended. Sign in again.';

export const failureOf = async (response: Response): Promise<ApiFailure> => {
  const error = messageIn(await response.json().catch(() => undefined));
  const { status } = response;
  const unknown = status === 401 ? SIGNED_OUT : `The response has status ${status}.`;
  const { message = unknown, param } = error ?? {};
  const requestId = response.headers.get('x-request-id');
  return new ApiFailure(String(message), {
    status,
    ...(typeof param === 'string' && { param }),
    ...(requestId && { requestId }),
  });
};

export const asFailure = (error: unknown): ApiFailure =>
  error instanceof ApiFailure
    ? error
    : new ApiFailure(error instanceof Error ? error.message : String(error));
