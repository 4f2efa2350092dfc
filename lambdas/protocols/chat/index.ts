import { encodeChatRequest } from '#late/encoders';
import { ownMarking } from '../cache/marks.ts';
import type { CallerProtocol, UpstreamProtocol } from '../protocol.ts';
import { relaying } from '../streams/relay.ts';
import { streamDecoder } from './decode-stream.ts';
import { editsOf } from './edits.ts';
import { streamEncoder } from './encode-stream.ts';
import { encodeError, encodeStreamError } from './error.ts';
import { NAME } from './name.ts';
import { createRelay } from './relay.ts';
import { cannotSay, decodeRequest, headersFor, losses } from './request.ts';
import { decodeResponse, encodeResponse } from './response.ts';

/** The chat-completions protocol, of callers and of targets. */
export const chat: CallerProtocol & UpstreamProtocol & { name: typeof NAME } = {
  name: NAME,
  heartbeat: { comment: 'waiting' },
  isTerminal: (message) => 'data' in message && message.data === '[DONE]',
  decodeRequest,
  encodeRequest: encodeChatRequest,
  editsOf,
  decodeResponse,
  encodeResponse,
  streamDecoder,
  streamEncoder: (request, meta) => ({
    ...relaying(streamEncoder(request, meta), createRelay(request, meta)),
    fail: encodeStreamError,
  }),
  encodeError,
  encodeStreamError,
  limitHeaders: () => ({}),
  path: () => '/chat/completions',
  credentialHeader: 'authorization',
  modelList: '/models',
  cannotSay,
  losses,
  headers: headersFor,
  markingOf: ownMarking,
};
