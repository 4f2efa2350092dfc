import type { CallerProtocol } from '../protocol.ts';
import { numberAfter, streamEncoder } from './encode-stream.ts';
import { encodeError } from './error.ts';
import { NAME } from './name.ts';
import { decodeCountRequest, decodeRequest } from './request.ts';
import { encodeResponse } from './response.ts';

/** Events that end a response properly. */
const ENDS = new Set(['response.completed', 'response.incomplete']);

const extras = { protocol: NAME, fields: {} } as const;

/** The responses protocol, of callers only. It is stateless: a request holds its whole conversation. */
export const responses: CallerProtocol = {
  name: NAME,
  // A comment: SDKs reject events before `response.created`, and a replay of the stream leaves it out.
  heartbeat: { comment: 'waiting' },
  isTerminal: (message) => 'event' in message && ENDS.has(message.event ?? ''),
  decodeRequest,
  decodeCountRequest,
  countFields: { object: 'response.input_tokens' },
  encodeResponse,
  streamEncoder,
  encodeError,
  encodeStreamError: (error, requestId, meta, sent) => {
    const request = { model: meta.model, turns: [], stream: true, extras };
    return streamEncoder(request, meta, numberAfter(sent)).fail(error, requestId);
  },
  limitHeaders: () => ({}),
};
