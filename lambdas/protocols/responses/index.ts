import { ownMarking } from '../cache/members.ts';
import type { CallerProtocol, UpstreamProtocol } from '../protocol.ts';
import { decodeResponse, streamDecoder, usageIn } from './decode-stream.ts';
import { editsOf } from './edits.ts';
import { cannotSay, encodeRequest, losses } from './encode-request.ts';
import { numberAfter, streamEncoder } from './encode-stream.ts';
import { encodeError } from './error.ts';
import { overlayOf, relaying } from './relay.ts';
import { decodeCountRequest, decodeRequest } from './request.ts';
import { encodeResponse } from './response.ts';

export { failureOf } from './error.ts';
export { responseId, responseOf } from './response.ts';

/** Events that end a response properly. */
const ENDS = new Set(['response.completed', 'response.incomplete']);

const extras = { protocol: 'responses', fields: {} } as const;

/** The responses protocol, of callers and of targets. It is stateless: a request holds its whole conversation. */
export const responses: CallerProtocol & UpstreamProtocol & { name: 'responses' } = {
  name: 'responses',
  // A comment: SDKs reject events before `response.created`, and a replay of the stream leaves it out.
  heartbeat: { comment: 'waiting' },
  isTerminal: (message) => 'event' in message && ENDS.has(message.event ?? ''),
  decodeRequest,
  decodeCountRequest,
  countFields: { object: 'response.input_tokens' },
  encodeResponse: (generation, request, meta) => {
    const encode = () => encodeResponse(generation, request, meta);
    return generation.body ? overlayOf(generation.body.value, generation, meta, encode) : encode();
  },
  streamEncoder: (request, meta) => relaying(streamEncoder(request, meta), { request, meta }),
  encodeError,
  encodeStreamError: (error, requestId, meta, sent) => {
    const request = { model: meta.model, turns: [], stream: true, extras };
    return streamEncoder(request, meta, numberAfter(sent)).fail(error, requestId);
  },
  limitHeaders: () => ({}),
  path: () => '/responses',
  credentialHeader: 'authorization',
  modelList: '/models',
  takesStops: false,
  cannotSay,
  losses,
  encodeRequest,
  editsOf,
  decodeResponse,
  usageIn,
  streamDecoder,
  markingOf: ownMarking,
};
