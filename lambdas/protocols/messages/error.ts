import type { ApiError } from '../../support/errors.ts';
import { saysContextOverflow } from '../context-overflow.ts';
import type { UpstreamRefusal } from '../protocol.ts';
import type { SseMessage } from '../sse.ts';
import { message } from './encode-stream.ts';

export const encodeError = (
  { type, message: text }: ApiError,
  requestId: string,
): Record<string, unknown> => ({
  type: 'error',
  error: { type, message: text },
  request_id: requestId,
});

/** No `message_stop` after it: the stream did not end well. */
export const encodeStreamError = (error: ApiError, requestId: string): SseMessage[] => {
  const { type, ...fields } = encodeError(error, requestId);
  return [message(String(type), fields)];
};

export const decodeRefusal = (body: string): UpstreamRefusal => ({
  kind: saysContextOverflow(body) ? 'context-overflow' : 'other',
});
