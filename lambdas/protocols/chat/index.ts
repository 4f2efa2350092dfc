import { encodeChatRequest } from '#late/encoders';
import type { ApiError } from '../../support/errors.ts';
import { ownMarking } from '../cache/members.ts';
import type { CallerProtocol, UpstreamProtocol } from '../protocol.ts';
import { relaying } from '../streams/relay.ts';
import type { SseMessage } from '../streams/sse.ts';
import { Answer } from './answer.ts';
import { streamDecoder } from './decode-stream.ts';
import { editsOf } from './edits.ts';
import { streamEncoder } from './encode-stream.ts';
import { createRelay } from './relay.ts';
import { cannotSay, decodeRequest, headersFor, losses } from './request.ts';
import { decodeResponse, encodeResponse } from './response.ts';
import { usageIn } from './usage.ts';

/** The vendor's text for a prompt that is too long: chat clients shorten their history when they find it. */
const overflowText = ({ counts }: NonNullable<ApiError['overflow']>): string => {
  const howFar = counts
    ? `This model's maximum context length is ${counts.most} tokens. However, your messages resulted in ${counts.tokens} tokens.`
    : "The messages exceed this model's maximum context length.";
  return `${howFar} Please reduce the length of the messages.`;
};

/** The official SDK exposes `param` and `code`. */
const encodeError = ({
  type,
  message,
  param,
  code,
  overflow,
}: ApiError): Record<string, unknown> => ({
  error: {
    type,
    message: overflow ? `${message}. ${overflowText(overflow)}` : message,
    param: param ?? null,
    code: code ?? null,
  },
});

/**
 * One last message without `choices`: some clients raise on the event's name, the others on `error` in its
 * data, which the Vercel AI SDK drops if `choices` accompany it. No `finish_reason` or `[DONE]` precedes or
 * follows: clients read them as the end of a complete response.
 */
const encodeStreamError = (error: ApiError): SseMessage[] => [
  { event: 'error', data: JSON.stringify(encodeError(error)) },
];

/** The chat-completions protocol, of callers and of targets. */
export const chat: CallerProtocol & UpstreamProtocol & { name: 'chat' } = {
  name: 'chat',
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
  answer: Answer,
  encodeError,
  encodeStreamError,
  limitHeaders: () => ({}),
  path: () => '/chat/completions',
  credentialHeader: 'authorization',
  modelList: '/models',
  cannotSay,
  losses,
  headers: headersFor,
  usageIn,
  markingOf: ownMarking,
};
