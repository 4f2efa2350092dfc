import { createSeveralChoices } from '#late/crossing';
import { asArray, asRecord, asString, type Json } from '../bytes/json.ts';
import type { FinishReason, GenerationRequest, Usage } from '../generation.ts';
import type { StreamDecoder } from '../protocol.ts';
import { UpstreamError } from '../rejections/upstream-error.ts';
import { createEventWriter, createOutput, type EventWriter } from '../streams/event-writer.ts';
import { createStreamDecoder, ownCaller, received } from '../streams/relay.ts';
import type { ChoiceReader, ChoicesReader } from './choices.ts';
import { decodeFinishReason } from './finish-reason.ts';
import { createSum } from './sum.ts';
import { createToolFragments } from './tool-fragments.ts';
import { createAudioCounter, firstChoice, readUsage, thinkingNameIn, withTier } from './usage.ts';

type Prose = 'text' | 'thinking' | 'refusal';

const PROSE: Prose[] = ['thinking', 'text', 'refusal'];

/** Content is a string, or parts of text and thinking. */
const readContent = (content: unknown): [Prose, string][] => {
  if (typeof content === 'string') return [['text', content]];
  return asArray(content).flatMap((part): [Prose, string][] => {
    const record = asRecord(part) ?? {};
    const thinking = record.thinking;
    if (typeof thinking === 'string') return [['thinking', thinking]];
    if (Array.isArray(thinking)) {
      return readContent(thinking).map(([, text]) => ['thinking', text]);
    }
    return [['text', asString(record.text) ?? '']];
  });
};

/** Upstreams use one of two names for reasoning; some send both, one of them empty. */
const readReasoning = (delta: Json): string =>
  asString(delta.reasoning_content) || asString(delta.reasoning) || '';

/** Writes the messages of one choice as canonical events. */
const createMessageReader = (request: GenerationRequest, writer: EventWriter) => {
  /** Created at the first tool call: it indexes the names and ids of the whole request. */
  let tools: ReturnType<typeof createToolFragments> | undefined;

  const write = (kind: Prose, text: string) => {
    if (text === '') return;
    if (!writer.isOpen(kind)) {
      for (const other of PROSE) writer.close(other);
      writer.closeCompleteTools();
      writer.open(kind, kind === 'refusal' ? { type: 'text', refusal: true } : { type: kind });
    }
    writer.delta(kind, text);
  };

  const addTool = (fragment: Json) => {
    for (const kind of PROSE) writer.close(kind);
    tools ??= createToolFragments(request, writer);
    tools.add(fragment);
  };

  return {
    // One chunk may hold reasoning, text and tools; the model generated them in this order.
    read(delta: Json, usage?: Usage) {
      writer.start(usage);
      write('thinking', readReasoning(delta));
      for (const [kind, text] of readContent(delta.content)) write(kind, text);
      write('refusal', asString(delta.refusal) ?? '');
      if (asRecord(delta.audio) && !writer.isOpen('audio')) {
        writer.open('audio', { type: 'native', protocol: 'chat', value: {} });
      }
      for (const call of asArray(delta.tool_calls)) addTool(asRecord(call) ?? {});
      const functionCall = asRecord(delta.function_call);
      if (functionCall) addTool({ index: 0, function: functionCall });
    },
    finish: () => tools?.finish(),
  };
};

const createChoiceReader = (
  request: GenerationRequest,
  place?: Parameters<typeof createEventWriter>[0],
): ChoiceReader => {
  const writer = createEventWriter({
    mayBeEmpty: (request.stop ?? []).length > 0,
    caller: request.extras.protocol,
    ...place,
  });
  const message = createMessageReader(request, writer);
  let reason: FinishReason | undefined;
  return {
    hasReason: () => reason !== undefined,
    isFinished: writer.isFinished,
    read: (choice, usage) => {
      const delta = asRecord(choice.delta) ?? asRecord(choice.message) ?? {};
      message.read(delta, usage);
      // Not the end: usage may follow, and with some upstreams content.
      reason = decodeFinishReason(choice, request) ?? reason;
    },
    finish: (usage, sent) => {
      if (!reason) throw new UpstreamError('truncated', 'no finish_reason', { sent });
      message.finish();
      writer.finish(reason, usage);
    },
    drain: writer.drain,
  };
};

/** Decodes the choices of a response, whole or in chunks, into canonical events. */
export const createChoices = (request: GenerationRequest): ChoicesReader => {
  const { choices: length } = request;
  if (length !== undefined) {
    const output = createOutput();
    return createSeveralChoices(
      Array.from({ length }, (_, choice) => createChoiceReader(request, { choice, output })),
    );
  }
  const reader = createChoiceReader(request);
  return {
    ...reader,
    read: (wire, usage) => {
      const choice = firstChoice(wire);
      if (choice) reader.read(choice, usage);
    },
  };
};

/** @throws UpstreamError on `push` or `end` if the upstream fails, breaks its protocol or ends early. */
export const streamDecoder = (request: GenerationRequest): StreamDecoder => {
  const choices = createChoices(request);
  const known: Partial<Usage> = {};
  const countAudio = createAudioCounter(known);
  let usage: Usage | undefined;

  const read = (chunk: Json): void => {
    // Usage comes on a separate chunk, on the last one, or cumulatively on each: the last one counts.
    const counts = readUsage(chunk);
    usage = counts ?? usage;
    if (!usage) countAudio(chunk);
    const tier = asString(chunk.service_tier);
    if (tier !== undefined) known.serviceTier = tier;
    Object.assign(known, counts, thinkingNameIn(chunk));
    choices.read(chunk, usage);
  };
  const finish = (last?: Json) => choices.finish(withTier(usage, known.serviceTier), last);
  const { hasReason } = choices;
  return createStreamDecoder(
    { hasReason, writer: choices, read, finish, known },
    ownCaller(request, 'chat'),
    {
      ...{ relay: received, createSum },
    },
  );
};
