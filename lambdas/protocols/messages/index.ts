import { encodeMessagesRequest } from '#late/encoders';
import { perUnit } from '../../support/clock.ts';
import type { ApiError } from '../../support/errors.ts';
import { omitUndefined } from '../../support/objects.ts';
import { asCount, asRecord } from '../bytes/json.ts';
import { markingOf } from '../cache/marks.ts';
import type { CallerProtocol, HeaderMap, RequestLimits, UpstreamProtocol } from '../protocol.ts';
import { relaying } from '../streams/relay.ts';
import type { SseMessage } from '../streams/sse.ts';
import { Answer } from './answer.ts';
import { streamDecoder } from './decode-stream.ts';
import { editsOf } from './edits.ts';
import { message, streamEncoder } from './encode-stream.ts';
import { headersFor } from './headers.ts';
import { createRelay } from './relay.ts';
import { cannotSay, decodeCountRequest, decodeRequest, losses } from './request.ts';
import { decodeResponse, encodeResponse } from './response.ts';
import { usageIn } from './usage.ts';

const encodeError = (
  { type, message: text, details }: ApiError,
  requestId: string,
): Record<string, unknown> => ({
  type: 'error',
  error: omitUndefined({ type, message: text, details }),
  request_id: requestId,
});

/** No `message_stop` follows: it marks a complete message. */
const encodeStreamError = (error: ApiError, requestId: string): SseMessage[] => {
  const { type, ...fields } = encodeError(error, requestId);
  return [message(String(type), fields)];
};

/** Requests of a minute have the same reset. */
const formatReset = perUnit(1, (instant) => instant.toISOString());

const limitHeaders = ({ limit, remaining, resetAt }: RequestLimits): HeaderMap => ({
  'anthropic-ratelimit-requests-limit': String(limit),
  'anthropic-ratelimit-requests-remaining': String(remaining),
  'anthropic-ratelimit-requests-reset': formatReset(resetAt),
});

/** The messages protocol, of callers and of targets. */
export const messages: CallerProtocol & UpstreamProtocol & { name: 'messages' } = {
  name: 'messages',
  heartbeat: { event: 'ping', data: '{"type":"ping"}' },
  isTerminal: (message) => 'event' in message && message.event === 'message_stop',
  decodeRequest,
  decodeCountRequest,
  encodeRequest: encodeMessagesRequest,
  editsOf,
  decodeResponse,
  encodeResponse,
  streamDecoder,
  streamEncoder: (request, meta) => ({
    ...relaying(streamEncoder(request, meta), createRelay(request)),
    fail: encodeStreamError,
  }),
  answer: Answer,
  encodeError,
  encodeStreamError,
  limitHeaders,
  path: () => '/v1/messages',
  credentialHeader: 'x-api-key',
  modelList: '/v1/models',
  counter: {
    path: '/v1/messages/count_tokens',
    members: ['model', 'messages', 'system', 'tools', 'tool_choice', 'thinking'],
    decodeResponse: (body) => asCount(asRecord(body)?.input_tokens),
  },
  cannotSay,
  losses,
  headers: headersFor,
  usageIn,
  markingOf,
};
