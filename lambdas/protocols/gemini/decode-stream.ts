import { omitUndefined } from '../../support/objects.ts';
import { asArray, asCount, asRecord, asString, type Json } from '../bytes/json.ts';
import type { FinishReason, GenerationEvent, GenerationRequest, Usage } from '../generation.ts';
import { extrasIfAny } from '../ledger/extras.ts';
import type { StreamDecoder } from '../protocol.ts';
import { UpstreamError } from '../rejections/upstream-error.ts';
import { createEventWriter } from '../streams/event-writer.ts';
import { createStreamDecoder, type StreamReader } from '../streams/relay.ts';
import { hasCustomTool, unwrapInput } from '../tools/custom.ts';
import { createToolIds } from '../tools/ids.ts';
import { callerToolNames } from '../tools/names.ts';
import { type Counted, createSearches } from './searches.ts';

// --- counts and ends ---

const audioTokensIn = (details: unknown): number =>
  asArray(details).reduce<number>((sum, one) => {
    const { modality, tokenCount } = asRecord(one) ?? {};
    return modality === 'AUDIO' ? sum + (asCount(tokenCount) ?? 0) : sum;
  }, 0);

/** The tier that the tokens were billed by, in the words of either of the vendor's services. */
const tierIn = ({ serviceTier, trafficType }: Json): string | undefined => {
  const tier = (asString(serviceTier) ?? asString(trafficType))?.toLowerCase();
  return tier?.endsWith('unspecified') ? undefined : tier?.replace('on_demand_', '');
};

/** `promptTokenCount` includes what was cached; thoughts are counted apart. */
const decodeUsage = (value: unknown): Counted | undefined => {
  const wire = asRecord(value);
  const prompt = asCount(wire?.promptTokenCount);
  if (!wire || prompt === undefined) return undefined;
  const thoughts = asCount(wire.thoughtsTokenCount) ?? 0;
  const audio = audioTokensIn(wire.promptTokensDetails) - audioTokensIn(wire.cacheTokensDetails);
  const billing = omitUndefined({
    inputAudioTokens: Math.max(0, audio) || undefined,
    serviceTier: tierIn(wire),
  });
  return {
    fromTools: asCount(wire.toolUsePromptTokenCount) ?? 0,
    usage: omitUndefined({
      inputTokens: prompt,
      outputTokens: (asCount(wire.candidatesTokenCount) ?? 0) + thoughts,
      cacheReadTokens: asCount(wire.cachedContentTokenCount),
      reasoningTokens: thoughts || undefined,
      billing,
    }),
  };
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
      ...extrasIfAny('gemini', { thoughtSignature }),
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
    writer.open('other', { type: 'native', protocol: 'gemini', value: part });
    return writer.close('other');
  };
  return { writer, read };
};

const candidateIn = ({ candidates }: Json): Json | undefined => asRecord(asArray(candidates)[0]);

/** The counts of a whole response. */
export const usageIn = (wire: Json): Usage | undefined => {
  const searches = createSearches();
  searches.read(wire, candidateIn(wire));
  const counted = decodeUsage(wire.usageMetadata);
  return counted && searches.withUses(counted);
};

/** Decodes a response, whole or in pieces of the same form. The end of the bytes ends it. */
export const streamDecoder = (request: GenerationRequest): StreamDecoder => {
  const { writer, read } = createPartReader(request);
  let reason: FinishReason | undefined;
  const known: Partial<Usage> = {};
  let counted: Counted | undefined;
  const searches = createSearches();

  const readChunk = (wire: Json): void => {
    const candidate = candidateIn(wire);
    searches.read(wire, candidate);
    // Cumulative: the last one counts. The first one has the prompt, also of a stream that is not read to its end.
    counted = decodeUsage(wire.usageMetadata) ?? counted;
    const usage = counted && searches.withUses(counted);
    Object.assign(known, usage);
    writer.start(usage);
    for (const part of asArray(asRecord(candidate?.content)?.parts)) read(asRecord(part) ?? {});
    const isBlocked = asString(asRecord(wire.promptFeedback)?.blockReason) !== undefined;
    reason =
      decodeFinishReason(candidate?.finishReason) ??
      (isBlocked ? { unified: 'content-filter' } : reason);
  };

  const reader: StreamReader = {
    hasReason: () => reason !== undefined,
    ...{ writer, known },
    read: readChunk,
    finish: (sent) => {
      if (!reason) throw new UpstreamError('truncated', 'no finishReason', { sent });
      searches.cite(writer);
      writer.finish(reason, counted && searches.withUses(counted));
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
