import type { ApiError } from '../../support/errors.ts';
import { saysContextOverflow } from '../context-overflow.ts';
import type { Label } from '../generation.ts';
import type { UpstreamRefusal } from '../protocol.ts';
import type { SseMessage } from '../sse.ts';
import { chunkOf } from './encode-stream.ts';

/** `param` and `code` beyond the contract: the official SDK exposes them. */
export const encodeError = ({ type, message, param, code }: ApiError): Record<string, unknown> => ({
  error: { type, message, param: param ?? null, code: code ?? null },
});

/** No `[DONE]` after it: the stream did not end well. */
export const encodeStreamError = (error: ApiError, _id: string, label: Label): SseMessage[] => [
  chunkOf(label, {
    choices: [{ index: 0, delta: {}, finish_reason: 'error' }],
    ...encodeError(error),
  }),
];

export const decodeRefusal = (body: string): UpstreamRefusal => ({
  kind: saysContextOverflow(body) ? 'context-overflow' : 'other',
});
