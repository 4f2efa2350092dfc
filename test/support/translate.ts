import type {
  GenerationEvent,
  GenerationRequest,
  ResponseMeta,
} from '../../lambdas/protocols/generation.ts';
import type {
  CallerProtocolName,
  UpstreamProtocol,
  UpstreamProtocolName,
} from '../../lambdas/protocols/protocol.ts';
import { callerProtocols, upstreamProtocols } from '../../lambdas/protocols/protocols.ts';
import { UpstreamError } from '../../lambdas/protocols/rejections/upstream-error.ts';
import { collect, writeResponse } from '../../lambdas/protocols/streams/collect.ts';
import { createSseReader, formatSse, withFrame } from '../../lambdas/protocols/streams/sse.ts';
import { createOriginTagger } from '../../lambdas/protocols/thinking/origin.ts';
import { apiError } from '../../lambdas/support/errors.ts';
import { assertChatStream } from './chat-stream.ts';
import { assertMessagesStream } from './messages-stream.ts';
import { assertResponsesStream } from './responses-stream.ts';
import { readSse } from './sse-text.ts';

export const LABEL: ResponseMeta = {
  id: 'Label',
  model: 'vendor/model',
  created: 1_700_000_000,
  now: () => 1_700_000_009,
  estimateInput: () => 11,
};

/** What marks the thinking of the upstream that is read. */
const MARK = 'eeeeeeeeeeee';

/** A minimal request, as the protocol's decoder would make it. */
export const requestOf = (name: CallerProtocolName, extra: object = {}): GenerationRequest => {
  const conversation =
    name === 'responses'
      ? { input: 'hi', max_output_tokens: 100 }
      : { messages: [{ role: 'user', content: 'hi' }], max_tokens: 100 };
  return callerProtocols[name].decodeRequest({
    model: 'vendor/model',
    stream: true,
    ...conversation,
    ...extra,
  });
};

/** What an upstream sends, as text or as bytes that are none. */
type Wire = string | Uint8Array;

/** Bytes cut into pieces of the given sizes, the last size repeated. */
function* cut(wire: Wire, sizes: number[] = []): Generator<Uint8Array> {
  const bytes = typeof wire === 'string' ? Buffer.from(wire, 'utf8') : wire;
  let at = 0;
  for (let turn = 0; at < bytes.length; turn += 1) {
    const size = sizes[Math.min(turn, sizes.length - 1)] ?? bytes.length;
    yield bytes.subarray(at, at + size);
    at += size;
  }
}

/** The canonical events of a wire stream; a fault ends them as itself. */
export const decode = async (
  protocol: Pick<UpstreamProtocol, 'streamDecoder'>,
  wire: Wire,
  request: GenerationRequest,
  sizes?: number[],
): Promise<{ events: GenerationEvent[]; fault: UpstreamError | undefined }> => {
  const decoder = withFrame(protocol.streamDecoder(request));
  const events: GenerationEvent[] = [];
  try {
    const sse = createSseReader();
    for (const piece of cut(wire, sizes)) {
      for (const message of sse.push(piece)) events.push(...decoder.push(message));
    }
    for (const message of sse.end()) events.push(...decoder.push(message));
    events.push(...decoder.end());
    return { events, fault: undefined };
  } catch (fault) {
    if (fault instanceof UpstreamError) return { events, fault };
    throw fault;
  }
};

/** What a caller of `to` reads when an upstream of `from` sends `wire`: the router's own path. */
export const translate = async (
  from: UpstreamProtocolName | UpstreamProtocol,
  to: CallerProtocolName,
  wire: Wire,
  options: { request?: GenerationRequest; sizes?: number[] } = {},
): Promise<string> => {
  const request = options.request ?? requestOf(to);
  const upstream = typeof from === 'string' ? upstreamProtocols[from] : from;
  const { events, fault } = await decode(upstream, wire, request, options.sizes);
  const encoder = callerProtocols[to].streamEncoder(request, LABEL);
  const messages = events.map(createOriginTagger(MARK)).flatMap(encoder.push);
  if (fault) {
    const error = apiError('The model is temporarily unavailable.', { cause: fault });
    messages.push(...encoder.fail(error, 'req_1'));
  }
  return messages.map(formatSse).join('');
};

async function* once(events: GenerationEvent[]) {
  yield events;
}

/** The text of the whole response that a caller of `to` gets. */
export const wholeFor = async (
  to: CallerProtocolName,
  events: GenerationEvent[],
  request: GenerationRequest,
): Promise<string> => {
  const generation = await collect(once(events));
  return writeResponse(callerProtocols[to], generation, { request, meta: LABEL });
};

/** The checker of the caller's family. */
export const assertWellFormed = (
  to: CallerProtocolName,
  text: string,
  from?: UpstreamProtocolName,
) => {
  if (to === 'responses') return assertResponsesStream(readSse(text), from === to);
  return to === 'chat' ? assertChatStream(readSse(text)) : assertMessagesStream(readSse(text));
};

export const chatWire = (chunks: object[], end = 'data: [DONE]\n\n'): string =>
  chunks.map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`).join('') + end;

export const messagesWire = (events: ({ type: string } & Record<string, unknown>)[]): string =>
  events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join('');
