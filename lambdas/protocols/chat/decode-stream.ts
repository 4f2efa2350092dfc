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
import { UpstreamFault } from '../upstream-fault.ts';
import { decodeFinishReason } from './finish-reason.ts';
import { NAME } from './name.ts';
import { createToolFragments } from './tool-fragments.ts';
import { decodeUsage } from './usage.ts';

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

/** What upstreams call the model's reasoning; some send both names, one of them empty. */
const readReasoning = (delta: Json): string =>
  asString(delta.reasoning_content) || asString(delta.reasoning) || '';

/** Where upstreams put the counts: on the chunk, in its choice, or under a name of their own. */
export const readUsage = (chunk: Json, choice: Json | undefined): Usage | undefined =>
  decodeUsage(chunk.usage) ??
  decodeUsage(choice?.usage) ??
  decodeUsage(asRecord(chunk.x_groq)?.usage);

/** Reads the pieces of one choice, whole (`message`) or in part (`delta`), into canonical events. */
export const createChoiceReader = (request: GenerationRequest) => {
  const writer = createEventWriter({ mayBeEmpty: (request.stop ?? []).length > 0 });
  const tools = createToolFragments(request, writer);

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
    tools.add(fragment);
  };

  return {
    writer,
    // One chunk may hold reasoning, text and tools at once; this is the order in which they were made.
    read(delta: Json, logprobs: unknown) {
      writer.start();
      write('thinking', readReasoning(delta));
      for (const [kind, text] of readContent(delta.content)) write(kind, text);
      write('refusal', asString(delta.refusal) ?? '');
      const spoken = writer.isOpen('refusal') ? 'refusal' : 'text';
      if (asRecord(logprobs)) writer.extra(spoken, { protocol: NAME, fields: { logprobs } });
      for (const call of asArray(delta.tool_calls)) addTool(asRecord(call) ?? {});
      const legacy = asRecord(delta.function_call);
      if (legacy) addTool({ index: 0, function: legacy });
    },
    finish(reason: FinishReason, usage: Usage | undefined) {
      tools.finish();
      writer.finish(reason, usage);
    },
  };
};

/** @throws UpstreamFault when the body or chunk says that the upstream failed. */
export const assertNoError = (wire: Json) => {
  const error = wire.error;
  if (error === undefined || error === null) return;
  throw new UpstreamFault('error-event', `the upstream sent an error: ${JSON.stringify(error)}`);
};

/** Only the first choice exists for us: requests for more are refused. */
export const firstChoice = (wire: Json): Json | undefined => asRecord(asArray(wire.choices)[0]);

export const streamDecoder = (request: GenerationRequest): StreamDecoder => {
  const reader = createChoiceReader(request);
  let reason: FinishReason | undefined;
  let usage: Usage | undefined;

  const conclude = (): GenerationEvent[] => {
    if (reader.writer.finished) return [];
    if (!reason) throw new UpstreamFault('truncated', 'the stream ended without a finish_reason');
    reader.finish(reason, usage);
    return reader.writer.drain();
  };

  return {
    push: ({ data }) => {
      if (reader.writer.finished) return [];
      if (data.trim() === '[DONE]') return conclude();
      // Some upstreams keep the connection alive with events that say nothing.
      if (data.trim() === '') return [];
      // What is cut off behind the finish is no loss.
      const chunk = reason ? readJsonObject(data) : parseUpstreamJson(data);
      if (!chunk) return conclude();
      assertNoError(chunk);
      // On its own chunk, on the last one or cumulatively on each: the last word counts, never a sum.
      const choice = firstChoice(chunk);
      usage = readUsage(chunk, choice) ?? usage;
      if (!choice) return [];
      const delta = asRecord(choice.delta) ?? asRecord(choice.message) ?? {};
      reader.read(delta, choice.logprobs);
      // Not the end yet: usage, and with some upstreams even content, may follow.
      reason = decodeFinishReason(choice, request) ?? reason;
      return reader.writer.drain();
    },
    end: conclude,
  };
};
