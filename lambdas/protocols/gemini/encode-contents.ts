import { asRecord, asString, type Json, readJsonObject } from '../bytes/json.ts';
import type {
  Block,
  GenerationRequest,
  MediaSource,
  ToolResultBlock,
  Turn,
} from '../generation.ts';
import { asReminder, spokenBlocks } from '../instructions.ts';
import { noContent } from '../ledger/assert-consistent.ts';
import { extraFieldsFor } from '../ledger/extras.ts';
import type { WireTarget } from '../protocol.ts';
import { fittingToolName } from '../tools/names.ts';
import { leadOf, runsOf } from '../turn-runs.ts';

// --- parts of the user ---

/** The type of a file by the end of its address, which the provider reads itself. */
const TYPES: Record<string, string> = { png: 'image/png', gif: 'image/gif', webp: 'image/webp' };

const mediaPart = (source: MediaSource, usual: string): Json => {
  if (source.kind === 'base64') {
    return { inlineData: { mimeType: source.mediaType, data: source.data } };
  }
  const [, ending = ''] = /\.(\w+)(?:[?#]|$)/.exec(source.url) ?? [];
  return { fileData: { mimeType: TYPES[ending.toLowerCase()] ?? usual, fileUri: source.url } };
};

/** Audio of a chat caller, the one native part that the protocol has too. */
export const audioIn = (block: Block): Json | undefined => {
  if (block.type !== 'native' || block.value.type !== 'input_audio') return undefined;
  const { data, format } = asRecord(block.value.input_audio) ?? {};
  return { inlineData: { mimeType: `audio/${asString(format) ?? 'wav'}`, data } };
};

/** The parts of a block; files have no title, so that it is a text before them. */
const partsOf = (block: Block): Json[] => {
  switch (block.type) {
    case 'text':
      return block.text === '' ? [] : [{ text: block.text }];
    case 'image':
      return [mediaPart(block.source, 'image/jpeg')];
    case 'document': {
      const { source, title } = block;
      const named = title === undefined ? [] : [{ text: title }];
      if (source.kind === 'text') return [...named, { text: source.text }];
      return [...named, mediaPart(source, 'application/pdf')];
    }
    default: {
      const audio = audioIn(block);
      return audio ? [audio] : [];
    }
  }
};

const resultPart = (
  { callId: id, content, isError }: ToolResultBlock,
  names: ReadonlyMap<string, string>,
): Json => {
  const parts = content.flatMap(partsOf);
  const text = parts.flatMap((part) => asString(part.text) ?? []).join('\n');
  const media = parts.filter((part) => !('text' in part));
  return {
    functionResponse: {
      ...{ id, name: fittingToolName(names.get(id) ?? id) },
      response: { [isError ? 'error' : 'output']: text },
      ...(media.length > 0 && { parts: media }),
    },
  };
};

// --- parts of the model ---

/** Stands for the signature of a call that another model made: newer models reject one without. */
const UNSIGNED = 'skip_thought_signature_validator';

/** Of the calls that follow each other only the first is signed. */
const modelParts = (blocks: Block[], { thinking }: WireTarget): Json[] => {
  let isFirst = true;
  return blocks.flatMap((block): Json[] => {
    if (block.type === 'thinking') {
      const { text, signature } = block;
      if (!signature) return [];
      const thought = text !== '' && { thought: true };
      return [{ text, ...thought, thoughtSignature: signature }];
    }
    if (block.type !== 'tool-call') return partsOf(block);
    const { id, name, arguments: text, extras } = block;
    const own = asString(extraFieldsFor('gemini', extras).thoughtSignature);
    // Models with budgets, the older ones, check no signatures.
    const signature = own ?? (isFirst && !thinking?.includes('enabled') ? UNSIGNED : undefined);
    isFirst = false;
    return [
      {
        functionCall: { id, name: fittingToolName(name), args: readJsonObject(text) ?? {} },
        ...(signature !== undefined && { thoughtSignature: signature }),
      },
    ];
  });
};

// --- the conversation ---

const namesOf = (turns: Turn[]): Map<string, string> =>
  new Map(
    turns.flatMap(({ blocks }) =>
      blocks.flatMap((block) => (block.type === 'tool-call' ? [[block.id, block.name]] : [])),
    ),
  );

/**
 * System turns before the conversation, and the conversation: later ones are marked turns of the user.
 * @throws ApiError 400 when nothing of it has a form
 */
export const encodeContents = (
  { turns }: GenerationRequest,
  target: WireTarget,
): { systemInstruction?: Json; contents: Json[] } => {
  const [lead, rest] = leadOf(turns);
  const system = lead.flatMap(({ blocks }) => spokenBlocks(blocks).flatMap(partsOf));
  const names = namesOf(turns);
  const runs = runsOf(rest.map(asReminder), (last, next) => last.role === next.role);
  const contents = runs.flatMap((run): Json[] => {
    const blocks = run.flatMap((turn) => turn.blocks);
    if (run[0].role === 'assistant') return [{ role: 'model', parts: modelParts(blocks, target) }];
    // Results are first: they belong to the calls before them.
    const results = blocks.flatMap((block) =>
      block.type === 'tool-result' ? resultPart(block, names) : [],
    );
    return [{ role: 'user', parts: [...results, ...blocks.flatMap(partsOf)] }];
  });
  const said = contents.filter(({ parts }) => Array.isArray(parts) && parts.length > 0);
  // The protocol has no conversation of instructions alone.
  if (said.length === 0 && system.length > 0 && rest.length === 0) {
    return { contents: [{ role: 'user', parts: system }] };
  }
  if (said.length === 0) throw noContent();
  return { ...(system.length > 0 && { systemInstruction: { parts: system } }), contents: said };
};
