import type { Protocol, RequestLimits } from '../protocol.ts';
import { streamDecoder } from './decode-stream.ts';
import { streamEncoder } from './encode-stream.ts';
import { encodeError, encodeStreamError } from './error.ts';
import { NAME } from './name.ts';
import { decodeRequest, encodeRequest } from './request.ts';
import { decodeResponse, encodeResponse } from './response.ts';

export { decodeCountRequest } from './request.ts';

/** The vendor's first stable version; targets may name another in their `headers`. */
const VERSION = '2023-06-01';

const limitHeaders = ({ limit, remaining, resetAt }: RequestLimits): Record<string, string> => ({
  'anthropic-ratelimit-requests-limit': String(limit),
  'anthropic-ratelimit-requests-remaining': String(remaining),
  'anthropic-ratelimit-requests-reset': new Date(resetAt).toISOString(),
});

/** The messages protocol. */
export const messages: Protocol = {
  name: NAME,
  upstreamPath: '/v1/messages',
  heartbeat: { event: 'ping', data: '{"type":"ping"}' },
  decodeRequest,
  encodeRequest,
  decodeResponse,
  encodeResponse,
  streamDecoder,
  streamEncoder,
  encodeError,
  encodeStreamError,
  upstreamHeaders: (secret) => ({ 'x-api-key': secret, 'anthropic-version': VERSION }),
  limitHeaders,
};
