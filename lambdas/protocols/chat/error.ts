import type { ApiError } from '../../support/errors.ts';
import type { ResponseMeta } from '../generation.ts';
import type { SseMessage } from '../sse.ts';
import { chunkOf } from './encode-stream.ts';

/** The official SDK exposes `param` and `code`. */
export const encodeError = ({ type, message, param, code }: ApiError): Record<string, unknown> => ({
  error: { type, message, param: param ?? null, code: code ?? null },
});

/**
 * Sends the error twice: on the chunk that ends the response, and in a separate last message. The
 * official SDKs throw on the first; the Vercel AI SDK drops `error` from a message with `choices`.
 * No `[DONE]`: it marks a complete response.
 */
export const encodeStreamError = (
  error: ApiError,
  _id: string,
  meta: ResponseMeta,
): SseMessage[] => {
  const body = encodeError(error);
  const lastChunk = { choices: [{ index: 0, delta: {}, finish_reason: 'error' }], ...body };
  return [chunkOf(meta, lastChunk), { data: JSON.stringify(body) }];
};
