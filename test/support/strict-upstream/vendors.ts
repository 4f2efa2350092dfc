import type { IncomingMessage } from 'node:http';
import type { Wire } from '../wires.ts';
import { streamedChat, wholeChat } from './chat-response.ts';
import { chatRejections } from './chat-rules.ts';
import { streamedGemini, wholeGemini } from './gemini-response.ts';
import { geminiRejections } from './gemini-rules.ts';
import { streamedMessages, wholeMessages } from './messages-response.ts';
import { messagesRejections } from './messages-rules.ts';
import { streamedResponses, wholeResponses } from './responses-response.ts';
import { responsesRejections } from './responses-rules.ts';
import type { Meant, WireForm } from './wire-response.ts';

/** Protocols of upstreams. */

type Headers = IncomingMessage['headers'];

const isBearer = ({ authorization }: Headers) => /^Bearer \S+$/.test(String(authorization));

/** What a vendor rejects, how it is called, and what it answers. */
type Vendor = {
  path: RegExp;
  rejections(body: unknown): string[];
  credential(headers: Headers): boolean;
  whole(meant: Meant, form: WireForm): string;
  streamed(meant: Meant, form: WireForm): string;
  error(message: string): object;
};

const flatError = (message: string) => ({ error: { type: 'invalid_request_error', message } });

export const VENDORS: Record<Wire, Vendor> = {
  chat: {
    path: /\/chat\/completions$/,
    rejections: chatRejections,
    credential: isBearer,
    whole: wholeChat,
    streamed: streamedChat,
    error: flatError,
  },
  messages: {
    path: /\/v1\/messages$/,
    rejections: messagesRejections,
    credential: (headers) =>
      /^\S+$/.test(String(headers['x-api-key'])) &&
      /^\d{4}-\d{2}-\d{2}$/.test(String(headers['anthropic-version'])),
    whole: wholeMessages,
    streamed: streamedMessages,
    error: (message) => ({ type: 'error', ...flatError(message) }),
  },
  responses: {
    path: /\/responses$/,
    rejections: responsesRejections,
    credential: isBearer,
    whole: wholeResponses,
    streamed: streamedResponses,
    error: flatError,
  },
  gemini: {
    path: /\/models\/[^/:]+:(?:generateContent|streamGenerateContent\?alt=sse)$/,
    rejections: geminiRejections,
    credential: (headers) => /^\S+$/.test(String(headers['x-goog-api-key'])),
    whole: wholeGemini,
    streamed: streamedGemini,
    error: (message) => ({ error: { code: 400, message, status: 'INVALID_ARGUMENT' } }),
  },
};

const HELLO: Meant = {
  ...{ text: 'Hello', calls: [], finish: 'stop' },
  usage: { input: 3, cached: 0, output: 1 },
};

/** Which vendor a path, below any base address, belongs to. */
export const wireAt = (url: string): Wire => {
  const found = Object.entries(VENDORS).find(([, { path }]) => path.test(url));
  return (found?.[0] ?? 'chat') as Wire;
};

/** A stream of the vendor whose path is called, which says `Hello`. */
export const helloAt = (url: string): string =>
  VENDORS[wireAt(url)].streamed(HELLO, { isWhole: false, isAscii: false, units: [5] });
