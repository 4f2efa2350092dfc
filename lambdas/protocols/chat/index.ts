import type { Protocol } from '../protocol.ts';
import { streamDecoder } from './decode-stream.ts';
import { streamEncoder } from './encode-stream.ts';
import { encodeError, encodeStreamError } from './error.ts';
import { NAME } from './name.ts';
import { decodeRequest, encodeRequest } from './request.ts';
import { decodeResponse, encodeResponse } from './response.ts';

/** The chat-completions protocol. */
export const chat: Protocol = {
  name: NAME,
  upstreamPath: '/chat/completions',
  heartbeat: { comment: 'waiting' },
  decodeRequest,
  encodeRequest,
  decodeResponse,
  encodeResponse,
  streamDecoder,
  streamEncoder,
  encodeError,
  encodeStreamError,
  upstreamHeaders: (secret) => ({ authorization: `Bearer ${secret}` }),
  limitHeaders: () => ({}),
};
