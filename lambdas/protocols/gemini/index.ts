import type { UpstreamProtocol } from '../protocol.ts';
import { decodeResponse, streamDecoder, usageIn } from './decode-stream.ts';
import { cannotSay, encodeRequest, losses } from './encode-request.ts';

/** The protocol of Google's models, of targets only: the model and the form of the response are in the path. */
export const gemini: UpstreamProtocol = {
  path: ({ model }, isStreamed = true) =>
    `/models/${encodeURIComponent(model)}:${isStreamed ? 'streamGenerateContent?alt=sse' : 'generateContent'}`,
  credentialHeader: 'x-goog-api-key',
  cannotSay,
  losses,
  encodeRequest,
  decodeResponse,
  usageIn,
  streamDecoder,
  markingOf: () => ({ by: 'none', why: 'automatic' }),
};
