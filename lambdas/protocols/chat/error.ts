import type { ApiError } from '../../support/errors.ts';
import type { ResponseMeta } from '../generation.ts';
import type { SseMessage } from '../sse.ts';
import { chunkOf } from './encode-stream.ts';

/** With `param` and `code`, which the official SDK exposes. */
export const encodeError = ({ type, message, param, code }: ApiError): Record<string, unknown> => ({
  error: { type, message, param: param ?? null, code: code ?? null },
});

/**
 * The chunk that ends the answer says what went wrong, and so does a last message of its own: the Vercel
 * AI SDK drops `error` from anything that has `choices`, and then sees only an end it does not know. The
 * official SDKs throw on the first. No `[DONE]`: the stream did not end well.
 */
export const encodeStreamError = (
  error: ApiError,
  _id: string,
  label: ResponseMeta,
): SseMessage[] => {
  const told = encodeError(error);
  const ended = { choices: [{ index: 0, delta: {}, finish_reason: 'error' }], ...told };
  return [chunkOf(label, ended), { data: JSON.stringify(told) }];
};
