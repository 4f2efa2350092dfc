import { omitUndefined } from '../../support/objects.ts';
import { asArray, asCount, asRecord, asString, type Json } from '../bytes/json.ts';
import type { FinishReason, GenerationEvent, GenerationRequest, Usage } from '../generation.ts';
import { extrasIfAny } from '../ledger/extras.ts';
import type { StreamDecoder } from '../protocol.ts';
import { UpstreamError } from '../rejections/upstream-error.ts';
import { createEventWriter, type EventWriter } from '../streams/event-writer.ts';
import { createStreamDecoder, type StreamReader } from '../streams/relay.ts';
import { hasCustomTool, unwrapInput } from '../tools/custom.ts';
import { createToolIds } from '../tools/ids.ts';
import { callerToolNames } from '../tools/names.ts';
import { NAME } from './name.ts';
import { createSearches } from './searches.ts';

// --- counts and ends ---

/** `promptTokenCount` includes what was cached; thoughts and what tools put into the prompt are counted apart. */
const decodeUsage = (value: unknown): Usage | undefined => {
  const wire = asRecord(value);
  const prompt = asCount(wire?.promptTokenCount);
  if (!wire || prompt === undefined) return undefined;
  const thoughts = asCount(wire.thoughtsTokenCount) ?? 0;
  const audio = asArray(wire.promptTokensDetails).map((one) => asRecord(one) ?? {});
  const inputAudioTokens = asCount(audio.find((one) => one.modality === 'AUDIO')?.tokenCount);
  return omitUndefined({
    inputTokens: prompt + (asCount(wire.toolUsePromptTokenCount) ?? 0),
    outputTokens: (asCount(wire.candidatesTokenCount) ?? 0) + thoughts,
    cacheReadTokens: asCount(wire.cachedContentTokenCount),
    reasoningTokens: thoughts || undefined,
    billing: inputAudioTokens ? { inputAudioTokens } : undefined,
  });
};

const UNIFIED: Record<string, FinishReason['unified']> = {
  STOP: 'stop',
  MAX_TOKENS: 'length',
  CONTINUATION: 'length',
};
/** What a filter ended; `SPII` is personal data. */
const FILTERED = /SAFETY|RECITATION|BLOCKLIST|PROHIBITED|SPII|LANGUAGE/;

/** @throws UpstreamError for an end that is a failure of the upstream, such as a call that it could not write */
const decodeFinishReason = (value: unknown): FinishReason | undefined => {
  const word = asString(value);
  if (word === undefined || word === 'FINISH_REASON_UNSPECIFIED') return undefined;
  const unified = FILTERED.test(word) ? 'content-filter' : UNIFIED[word];
  if (!unified) throw new UpstreamError('error-event', `finishReason is "${word.slice(0, 40)}"`);
  return { unified };
};

// --- parts ---

/** Writes the parts of the one candidate that is asked for. */
const createPartReader = (request: GenerationRequest) => {
  const writer = createEventWriter({
    mayBeEmpty: (request.stop ?? []).length > 0,
    caller: request.extras.protocol,
  });
  const uniqueId = createToolIds(request);
  const callerName = callerToolNames(request);

  const prose = (type: 'text' | 'thinking', text: string) => {
    if (text === '') return;
    if (!writer.isOpen(type)) {
      writer.close(type === 'text' ? 'thinking' : 'text');
      writer.open(type, { type });
    }
    writer.delta(type, text);
  };

  /** A signature behind a text is that of thinking without a text. */
  const sign = (signature: string | undefined) => {
    if (!signature) return;
    if (!writer.isOpen('thinking')) {
      writer.close('text');
      writer.open('thinking', { type: 'thinking' });
    }
    writer.close('thinking', signature);
  };

  const call = ({ id, name: wireName, args }: Json, thoughtSignature: string | undefined) => {
    const name = callerName(asString(wireName) ?? '');
    if (name === '' || !asRecord(args ?? {})) {
      throw new UpstreamError('malformed', 'a tool call without a name, or without an object');
    }
    const isCustom = hasCustomTool(request, name);
    writer.close('text');
    writer.close('thinking');
    writer.open('call', {
      ...{ type: 'tool-call', id: uniqueId(asString(id)), name },
      ...(isCustom && { custom: true }),
      // Sent back with the call, or the next turn is rejected.
      ...extrasIfAny(NAME, { thoughtSignature }),
    });
    const text = JSON.stringify(asRecord(args) ?? {});
    writer.delta('call', isCustom ? unwrapInput(text) : text);
    writer.close('call');
  };

  const read = (part: Json) => {
    const signature = asString(part.thoughtSignature);
    const called = asRecord(part.functionCall);
    if (called) return call(called, signature);
    const text = asString(part.text);
    if (text !== undefined) {
      prose(part.thought === true ? 'thinking' : 'text', text);
      return sign(signature);
    }
    // Code that the vendor ran, an image: no caller's protocol has a place for it.
    writer.open('other', { type: 'native', protocol: NAME, value: part });
    return writer.close('other');
  };
  return { writer, read };
};

/** Pages that the vendor searched, by the parts of the text that they support. */
const cite = (writer: EventWriter, grounding: unknown) => {
  const { groundingChunks, groundingSupports } = asRecord(grounding) ?? {};
  const pages = asArray(groundingChunks).map((one) => asRecord(asRecord(one)?.web) ?? {});
  for (const support of asArray(groundingSupports)) {
    const { segment, groundingChunkIndices } = asRecord(support) ?? {};
    // The start is left out where it is 0.
    const { startIndex = 0, endIndex } = asRecord(segment) ?? {};
    for (const at of asArray(groundingChunkIndices)) {
      const { uri, title } = pages[Number(at)] ?? {};
      writer.cite(undefined, { url: uri, title, start: startIndex, end: endIndex });
    }
  }
};

/** Decodes a response, whole or in pieces of the same form. The end of the bytes ends it. */
export const streamDecoder = (request: GenerationRequest): StreamDecoder => {
  const { writer, read } = createPartReader(request);
  let reason: FinishReason | undefined;
  let usage: Usage | undefined;
  let grounding: unknown;
  const searches = createSearches();

  const readChunk = (wire: Json): void => {
    // Cumulative: the last one counts. The first one has the prompt, also of a stream that is not read to its end.
    usage = decodeUsage(wire.usageMetadata) ?? usage;
    writer.start(usage);
    const candidate = asRecord(asArray(wire.candidates)[0]);
    for (const part of asArray(asRecord(candidate?.content)?.parts)) read(asRecord(part) ?? {});
    grounding = candidate?.groundingMetadata ?? grounding;
    searches.read(wire, candidate);
    const isBlocked = asString(asRecord(wire.promptFeedback)?.blockReason) !== undefined;
    reason =
      decodeFinishReason(candidate?.finishReason) ??
      (isBlocked ? { unified: 'content-filter' } : reason);
  };

  const reader: StreamReader = {
    hasReason: () => reason !== undefined,
    writer,
    read: readChunk,
    finish: () => {
      if (!reason) throw new UpstreamError('truncated', 'the response has no finishReason');
      cite(writer, grounding);
      writer.finish(reason, searches.withUses(usage));
    },
  };
  return createStreamDecoder(reader, undefined);
};

/** @throws UpstreamError when the body is not a response, or one without a good finish. */
export const decodeResponse = (body: unknown, request: GenerationRequest): GenerationEvent[] => {
  const wire = asRecord(body) ?? asRecord(asArray(body)[0]);
  if (!wire) throw new UpstreamError('malformed', 'the response is not a JSON object');
  const { push, end } = streamDecoder(request);
  return [...push({ data: JSON.stringify(wire) }), ...end()];
};
