import { createEventWriter } from '../event-writer.ts';
import type { FinishReason, GenerationEvent, GenerationRequest, Usage } from '../generation.ts';
import {
  asArray,
  asRecord,
  asString,
  type Json,
  parseUpstreamJson,
  readJsonObject,
} from '../json.ts';
import type { StreamDecoder } from '../protocol.ts';
import { UpstreamError } from '../upstream-error.ts';
import { decodeFinishReason } from './finish-reason.ts';
import { NAME } from './name.ts';
import { createResponseFields } from './response-fields.ts';
import { createToolFragments } from './tool-fragments.ts';
import { readUsage } from './usage.ts';

/** @throws UpstreamError when the body or chunk reports a failure. */
export const assertNoError = (wire: Json) => {
  const error = wire.error;
  if (error === undefined || error === null) return;
  throw new UpstreamError('error-event', 'the upstream sent an error', { sent: wire });
};

/** The only choice: `decodeRequest` rejects `n` above 1. */
export const firstChoice = (wire: Json): Json | undefined => asRecord(asArray(wire.choices)[0]);

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

/** Decodes one choice, whole (`message`) or in parts (`delta`), into canonical events. */
export const createChoiceReader = (request: GenerationRequest) => {
  const writer = createEventWriter({ mayBeEmpty: (request.stop ?? []).length > 0 });
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
    writer,
    // One chunk may hold reasoning, text and tools; the model generated them in this order.
    read(delta: Json, logprobs: unknown) {
      writer.start();
      write('thinking', readReasoning(delta));
      for (const [kind, text] of readContent(delta.content)) write(kind, text);
      write('refusal', asString(delta.refusal) ?? '');
      const key = writer.isOpen('refusal') ? 'refusal' : 'text';
      if (asRecord(logprobs)) writer.extra(key, { protocol: NAME, fields: { logprobs } });
      for (const call of asArray(delta.tool_calls)) addTool(asRecord(call) ?? {});
      const legacy = asRecord(delta.function_call);
      if (legacy) addTool({ index: 0, function: legacy });
    },
    finish(reason: FinishReason, usage: Usage | undefined) {
      tools?.finish();
      writer.finish(reason, usage);
    },
  };
};

/** @throws UpstreamError on `push` or `end` if the upstream fails, breaks its protocol or ends early. */
export const streamDecoder = (request: GenerationRequest): StreamDecoder => {
  const reader = createChoiceReader(request);
  let reason: FinishReason | undefined;
  let usage: Usage | undefined;
  const fields = createResponseFields();

  const conclude = (): GenerationEvent[] => {
    if (reader.writer.finished) return [];
    if (!reason) throw new UpstreamError('truncated', 'the stream ended without a finish_reason');
    reader.finish(fields.addTo(reason), usage);
    return reader.writer.drain();
  };

  return {
    get hasReason() {
      return reason !== undefined;
    },
    push: ({ data }) => {
      if (reader.writer.finished) return [];
      if (data.trim() === '[DONE]') return conclude();
      // Some upstreams keep the connection alive with empty events.
      if (data.trim() === '') return [];
      // After a finish_reason, a truncated chunk loses no content.
      const chunk = reason ? readJsonObject(data) : parseUpstreamJson(data);
      if (!chunk) return conclude();
      assertNoError(chunk);
      // Usage comes on a separate chunk, on the last one, or cumulatively on each: the last one counts.
      const choice = firstChoice(chunk);
      usage = readUsage(chunk, choice) ?? usage;
      const delta = asRecord(choice?.delta) ?? asRecord(choice?.message) ?? {};
      fields.add(chunk, delta);
      if (!choice) return [];
      reader.read(delta, choice.logprobs);
      // Not the end: usage may follow, and with some upstreams content.
      reason = decodeFinishReason(choice, request) ?? reason;
      return reader.writer.drain();
    },
    end: conclude,
  };
};
