import { createEventWriter } from '../event-writer.ts';
import type { FinishReason, GenerationRequest, Usage } from '../generation.ts';
import { asArray, asRecord, asString, type Json } from '../json.ts';
import { UpstreamError } from '../upstream-error.ts';
import { NAME } from './name.ts';
import { createToolFragments } from './tool-fragments.ts';

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
