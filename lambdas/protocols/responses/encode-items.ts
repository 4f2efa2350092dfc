import { omitUndefined } from '../../support/objects.ts';
import { asRecord, type Json } from '../bytes/json.ts';
import type {
  Block,
  GenerationRequest,
  ThinkingBlock,
  ToolResultBlock,
  Turn,
} from '../generation.ts';
import { spokenBlocks } from '../instructions.ts';
import { noContent } from '../ledger/assert-consistent.ts';
import { extraFieldsFor } from '../ledger/extras.ts';
import { formatMediaUrl } from '../media.ts';
import type { Profile } from '../profile.ts';
import { fittingToolName } from '../tools/names.ts';
import { joinRuns, resultsFirst } from '../turn-runs.ts';

/** The vendor rejects file data without a name. */
const UNNAMED_FILE = 'document.pdf';

const encodeDocument = ({ source, title, extras }: Extract<Block, { type: 'document' }>): Json => {
  const { image_url: _, ...marks } = extraFieldsFor('responses', extras);
  if (source.kind === 'text') {
    const text = title === undefined ? source.text : `${title}\n\n${source.text}`;
    return { ...marks, type: 'input_text', text };
  }
  const named = { ...marks, type: 'input_file', filename: title };
  return source.kind === 'url'
    ? omitUndefined({ ...named, filename: undefined, file_url: source.url })
    : { ...named, filename: title ?? UNNAMED_FILE, file_data: formatMediaUrl(source) };
};

/** Chat states the detail of an image next to its address. */
const imageFields = ({ extras }: Extract<Block, { type: 'image' }>): Json => {
  const { image_url } = extraFieldsFor('chat', extras);
  return image_url === undefined ? {} : { image_url };
};

/** A part of a prompt; undefined if only another protocol has a form for it. */
const encodePart = (block: Block): Json | undefined => {
  switch (block.type) {
    case 'text':
      return { ...extraFieldsFor('responses', block.extras), type: 'input_text', text: block.text };
    case 'image': {
      const { image_url: own, ...marks } = {
        ...imageFields(block),
        ...extraFieldsFor('responses', block.extras),
      };
      const { detail = 'auto' } = asRecord(own) ?? {};
      return { ...marks, type: 'input_image', image_url: formatMediaUrl(block.source), detail };
    }
    case 'document':
      return encodeDocument(block);
    default:
      return undefined;
  }
};

const partsOf = (blocks: Block[]): Json[] =>
  blocks.map(encodePart).filter((part) => part !== undefined);

/** A text if the output is one; the protocol has no flag for a failed call. */
const encodeOutput = ({ content, isError }: ToolResultBlock): string | Json[] => {
  const parts = partsOf(content);
  const texts = parts.filter(
    (part) => Object.keys(part).length === 2 && part.type === 'input_text',
  );
  const error = isError ? ['[tool error]'] : [];
  if (texts.length === parts.length) return [...error, ...texts.map(({ text }) => text)].join('\n');
  return [...error.map((text) => ({ type: 'input_text', text })), ...parts];
};

type Said = Extract<Block, { type: 'text' }>;

/** What a model said; as one text it needs no id, which strict servers require next to parts. */
const encodeSaid = (said: Said[], isCommon: boolean): Json => ({
  type: 'message',
  role: 'assistant',
  content: isCommon
    ? said.map(({ text }) => text).join('\n\n')
    : said.map(({ text, refusal }) =>
        refusal
          ? { type: 'refusal', refusal: text }
          : { type: 'output_text', text, annotations: [] },
      ),
});

/** The vendor rejects an empty id, which some upstreams of chat send. */
const idOf = (id: string): string => id || 'call_0';

/** Thinking that the target has signed; servers of open models read it without a signature. */
const encodeThinking = (
  { text, signature }: ThinkingBlock,
  isCommon: boolean,
): Json | undefined => {
  const own = { type: 'reasoning' };
  if (signature) {
    const summary = text === '' ? [] : [{ type: 'summary_text', text }];
    return { ...own, summary, encrypted_content: signature };
  }
  const content = [{ type: 'reasoning_text', text }];
  return isCommon && text !== '' ? { ...own, summary: [], content } : undefined;
};

/** The item of a part of an earlier response. */
const encodeItem = (block: Block, isCommon: boolean): Json | undefined => {
  if (block.type === 'thinking') return encodeThinking(block, isCommon);
  if (block.type !== 'tool-call') return undefined;
  const { id, arguments: text, custom } = block;
  const called = { call_id: idOf(id), name: fittingToolName(block.name) };
  return custom
    ? { type: 'custom_tool_call', ...called, input: text }
    : { type: 'function_call', ...called, arguments: text || '{}' };
};

/** Texts that follow each other are one message. */
const encodeAssistant = ({ blocks }: Turn, isCommon: boolean): Json[] => {
  const items: Json[] = [];
  let said: Said[] = [];
  const flush = () => {
    if (said.length > 0) items.push(encodeSaid(said, isCommon));
    said = [];
  };
  for (const block of blocks) {
    if (block.type === 'text' && block.text !== '') said.push(block);
    const item = encodeItem(block, isCommon);
    if (!item) continue;
    flush();
    items.push(item);
  }
  flush();
  return items;
};

/** Results before all else, as items of the kinds of their calls. */
const encodeSpoken = ({ role, blocks }: Turn, customCalls: ReadonlySet<string>): Json[] => {
  const results = blocks.flatMap((block) => {
    if (block.type !== 'tool-result') return [];
    const kind = customCalls.has(block.callId) ? 'custom_tool_call' : 'function_call';
    return [{ type: `${kind}_output`, call_id: idOf(block.callId), output: encodeOutput(block) }];
  });
  const content = partsOf(role === 'system' ? spokenBlocks(blocks) : blocks);
  return content.length > 0 ? [...results, { type: 'message', role, content }] : results;
};

/** The conversation as items. @throws ApiError 400 when nothing of it has a form */
export const encodeInput = ({ turns }: GenerationRequest, { items: known }: Profile): Json[] => {
  const isCommon = known === 'common';
  const customCalls = new Set<string>();
  let isSpoken = false;
  const joined = joinRuns(
    resultsFirst(turns),
    (turn, next) => turn.role === 'assistant' && turn.role === next.role,
  );
  const items = joined.flatMap((turn) => {
    if (turn.role !== 'assistant') {
      const spoken = encodeSpoken(turn, customCalls);
      isSpoken ||= turn.role === 'user' && spoken.length > 0;
      return spoken;
    }
    for (const block of turn.blocks) {
      if (block.type === 'tool-call' && block.custom) customCalls.add(block.id);
    }
    const said = encodeAssistant(turn, isCommon);
    isSpoken ||= said.length > 0;
    return said;
  });
  if (items.length === 0 || (!isSpoken && turns.some(({ role }) => role !== 'system'))) {
    throw noContent();
  }
  // Strict servers require an id of reasoning, which agents leave out.
  return isCommon
    ? items.map((item, at) => (item.type === 'reasoning' ? { ...item, id: `rs_${at}` } : item))
    : items;
};
