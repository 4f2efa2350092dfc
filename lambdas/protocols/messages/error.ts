import type { ApiError } from '../../support/errors.ts';
import { omitUndefined } from '../../support/omit-undefined.ts';
import type { SseMessage } from '../streams/sse.ts';
import { message } from './encode-stream.ts';

export const encodeError = (
  { type, message: text, details }: ApiError,
  requestId: string,
): Record<string, unknown> => ({
  type: 'error',
  error: omitUndefined({ type, message: text, details }),
  request_id: requestId,
});

/** No `message_stop` follows: it marks a complete message. */
export const encodeStreamError = (error: ApiError, requestId: string): SseMessage[] => {
  const { type, ...fields } = encodeError(error, requestId);
  return [message(String(type), fields)];
};
