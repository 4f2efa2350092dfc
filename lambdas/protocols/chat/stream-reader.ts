import { createEventWriter } from '../event-writer.ts';
import type { FinishReason, GenerationRequest, Usage } from '../generation.ts';
import { asArray, asRecord, asString, type Json } from '../json.ts';
import { UpstreamError } from '../upstream-error.ts';
import { NAME } from './name.ts';
import { createToolFragments } from './tool-fragments.ts';

/** @throws UpstreamFault when the body or chunk says that the upstream failed. */
export const assertNoError = (wire: Json) => {
  const error = wire.error;
  if (error === undefined || error === null) return;
  throw new UpstreamError('error-event', `the upstream sent an error: ${JSON.stringify(error)}`);
};

/** Only the first choice exists for us: requests for more are refused. */
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

/** What upstreams call the model's reasoning; some send both names, one of them empty. */
const readReasoning = (delta: Json): string =>
  asString(delta.reasoning_content) || asString(delta.reasoning) || '';

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
