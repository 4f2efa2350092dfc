import { subscribe } from 'node:diagnostics_channel';
import { IncomingMessage, type OutgoingHttpHeaders, ServerResponse } from 'node:http';
import { gunzipSync } from 'node:zlib';
import * as z from 'zod';
import { readAddress } from '../../lambdas/http/read-address.ts';
import type { CallerProtocolName } from '../../lambdas/protocols/protocol.ts';
import { ChatCompletion, ChatError } from './chat-schema.ts';
import { assertChatStream } from './chat-stream.ts';
import { MessagesError, WholeMessage } from './messages-schema.ts';
import { assertMessagesStream } from './messages-stream.ts';
import { EndedResponse, ResponsesError } from './responses-schema.ts';
import { assertResponsesStream } from './responses-stream.ts';
import { readSse, type WireEvent } from './sse-text.ts';
import { CREATED_AT } from './strict-upstream/responses-response.ts';

/** An answer of a router to a request below `/v1`, as it went out. */
type Answer = {
  path: string;
  /** The answer to a `Last-Event-ID`, which begins in the middle of a stream. */
  isContinued: boolean;
  status: number;
  headers: OutgoingHttpHeaders;
  text: string;
};

type Family = {
  whole: z.ZodType;
  error: z.ZodType;
  assertStream(events: WireEvent[], isRelayed?: boolean): unknown;
};

const FAMILIES: Record<CallerProtocolName, Family> = {
  chat: { whole: ChatCompletion, error: ChatError, assertStream: assertChatStream },
  messages: { whole: WholeMessage, error: MessagesError, assertStream: assertMessagesStream },
  responses: { whole: EndedResponse, error: ResponsesError, assertStream: assertResponsesStream },
};
const GENERATION = ['/v1/chat/completions', '/v1/messages', '/v1/responses'];

/** Of the vendor that the strict upstream is: a caller of its protocol gets its own members. */
const isRelayed = ({ text }: Answer): boolean => text.includes(`"created_at":${CREATED_AT}`);

/** @throws when an answer breaks the rules of the family that its path belongs to. */
const assertShape = (answer: Answer) => {
  const { path, isContinued, status, headers, text } = answer;
  const family = FAMILIES[readAddress(path).protocol.name];
  if (status >= 400) {
    family.error.parse(JSON.parse(text));
    return;
  }
  // Only answers of models show limits; what else is told at these paths is a test's own endpoint.
  if (!GENERATION.includes(path) || headers['x-ratelimit-limit-requests'] === undefined) return;
  if (headers['content-type'] !== 'application/json') {
    if (!isContinued) family.assertStream(readSse(text), isRelayed(answer));
  } else if (!isRelayed(answer)) family.whole.parse(JSON.parse(text));
};

let broken: Error[] = [];

const check = (answer: Answer) => {
  try {
    assertShape(answer);
  } catch (cause) {
    broken.push(new Error(`an answer at ${answer.path} is malformed:\n${answer.text}`, { cause }));
  }
};

/** The answers since the last time that broke their family's rules: there are to be none. */
export const takeBroken = (): Error[] => {
  const taken = broken;
  broken = [];
  return taken;
};

const isRouters = (headers: OutgoingHttpHeaders): boolean =>
  String(headers['x-request-id']).startsWith('req_');

const watch = (seen: Pick<Answer, 'path' | 'isContinued'>, response: ServerResponse) => {
  const head = { status: 0, headers: {} as OutgoingHttpHeaders };
  const pieces: Buffer[] = [];
  const { writeHead, write, end } = response;
  const keep = (piece: unknown) => {
    if (typeof piece === 'string') pieces.push(Buffer.from(piece));
    else if (piece instanceof Uint8Array) pieces.push(Buffer.from(piece));
  };
  Object.assign(response, {
    writeHead: (status: number, headers: OutgoingHttpHeaders) => {
      Object.assign(head, { status, headers: { ...headers } });
      return writeHead.call(response, status, headers);
    },
    write: (...parameters: Parameters<typeof write>) => {
      keep(parameters[0]);
      return write.apply(response, parameters);
    },
    end: (...parameters: Parameters<typeof end>) => {
      keep(parameters[0]);
      return end.apply(response, parameters);
    },
  });
  // Answers that a caller has left are not whole, and never finish.
  response.once('finish', () => {
    if (!isRouters(head.headers)) return;
    const sent = Buffer.concat(pieces);
    const bytes = head.headers['content-encoding'] === 'gzip' ? gunzipSync(sent) : sent;
    check({ ...seen, ...head, text: bytes.toString('utf8') });
  });
};

const Start = z.object({
  request: z.instanceof(IncomingMessage),
  response: z.instanceof(ServerResponse),
});

// Every answer that a server of this process gives.
subscribe('http.server.request.start', (message) => {
  const { request, response } = Start.parse(message);
  const [path = ''] = (request.url ?? '').split('?');
  if (!path.startsWith('/v1/') || request.method === 'HEAD') return;
  watch({ path, isContinued: request.headers['last-event-id'] !== undefined }, response);
});
