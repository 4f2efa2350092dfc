import { omitUndefined } from '../../support/objects.ts';
import { asRecord, type Json } from '../bytes/json.ts';
import type {
  Block,
  GenerationRequest,
  ToolCallBlock,
  ToolResultBlock,
  Turn,
} from '../generation.ts';
import { spokenBlocks } from '../instructions.ts';
import { noContent } from '../ledger/assert-consistent.ts';
import { extraFieldsFor } from '../ledger/extras.ts';
import type { WireTarget } from '../protocol.ts';
import { fittingToolName } from '../tools/names.ts';
import { type Run, resultsFirst, runsOf } from '../turn-runs.ts';
import { followsResult, withFittingCallIds, withOneText, withReasoningHistory } from './compat.ts';
import { encodeContent, encodeParts, joinTexts, type WireContent } from './encode-content.ts';
import { encodeFunctionCall, isOfFunction, unmarked } from './functions.ts';
import { joinPieces } from './signed-thinking.ts';

/** Chat callers' content is unchanged; texts of other callers are joined: all upstreams accept that. */
const contentOf = (blocks: Block[], sameProtocol: boolean) =>
  sameProtocol ? encodeContent(blocks) : joinTexts(blocks, '\n\n');

const encodeToolCall = (call: ToolCallBlock): Json => {
  const { id, name: ownName, arguments: text, extras } = call;
  const { function: nested, custom, ...fields } = extraFieldsFor('chat', extras);
  const name = fittingToolName(ownName);
  if (call.custom)
    return { ...fields, id, type: 'custom', custom: { ...asRecord(custom), name, input: text } };
  const called = { ...asRecord(nested), name, arguments: text || '{}' };
  return { ...fields, id, type: 'function', function: called };
};

/** The blocks of a turn by where its message holds them. */
const sortBlocks = ({ blocks }: Turn) => {
  const prose: Block[] = [];
  const called: ToolCallBlock[] = [];
  const thoughts: string[] = [];
  let refusal = '';
  for (const block of blocks) {
    if (block.type === 'tool-call') called.push(block);
    // Signed thinking is only for the upstream that signed it; no chat upstream signs.
    else if (block.type === 'thinking') {
      if (!block.signature && block.text !== '') thoughts.push(block.text);
    } else if (block.type === 'text' && block.refusal) refusal += block.text;
    else if (block.type !== 'tool-result') prose.push(block);
  }
  return { prose, called, reasoning: thoughts.join('\n'), refusal };
};

/** Undefined if no content is left, e.g. of a turn that held only thinking of another upstream. */
const encodeAssistant = (
  turn: Turn,
  sameProtocol: boolean,
  { reasoningHistory }: WireTarget,
): Json | undefined => {
  const { prose, called, reasoning, refusal } = sortBlocks(turn);
  const content = contentOf(joinPieces(prose), sameProtocol);
  const isEmptyTurn = content.length === 0 && called.length === 0 && refusal === '';
  if (isEmptyTurn && !sameProtocol) return undefined;
  const fields = extraFieldsFor('chat', turn.extras);
  // A spoken response is sent back by its id, without its content.
  const mayLackContent = !isEmptyTurn || fields.audio !== undefined;
  const calls = called.filter((call) => !isOfFunction(call));
  const functionCall = called.find(isOfFunction);
  return omitUndefined({
    ...fields,
    role: 'assistant',
    content: content.length === 0 && mayLackContent ? null : content,
    [reasoningHistory === 'reasoning' ? 'reasoning' : 'reasoning_content']: reasoning || undefined,
    refusal: refusal || undefined,
    tool_calls: calls.length > 0 ? calls.map(encodeToolCall) : undefined,
    function_call: functionCall && encodeFunctionCall(functionCall),
  });
};

const encodeSystem = ({ blocks, extras }: Turn, sameProtocol: boolean): Json | undefined => {
  const content = contentOf(spokenBlocks(blocks), sameProtocol);
  if (content.length === 0 && !sameProtocol) return undefined;
  return { ...extraFieldsFor('chat', extras), role: 'system', content };
};

const isResult = (block: Block): block is ToolResultBlock => block.type === 'tool-result';

/** Content that a tool message cannot hold; documents of plain text become text. */
const isMedia = (block: Block): boolean =>
  block.type === 'image' || (block.type === 'document' && block.source.kind !== 'text');

const asText = (block: Block): Block => {
  if (block.type !== 'document' || block.source.kind !== 'text') return block;
  const { title, source } = block;
  return { type: 'text', text: title === undefined ? source.text : `${title}\n\n${source.text}` };
};

/** Chat has no flag for a failed result. */
const markError = (content: WireContent): WireContent =>
  typeof content === 'string'
    ? `[tool error] ${content}`.trimEnd()
    : [{ type: 'text', text: '[tool error]' }, ...content];

const pointAt = (content: WireContent): WireContent =>
  typeof content === 'string'
    ? `${content}\n[attached below]`.trim()
    : [...content, { type: 'text', text: '[attached below]' }];

const encodeResult = (result: ToolResultBlock): Json => {
  const { callId, content, isError, extras } = result;
  const text = content.filter((block) => !isMedia(block)).map(asText);
  const joined = joinTexts(text, '\n');
  const pointed = content.some(isMedia) ? pointAt(joined) : joined;
  const wire = isError ? markError(pointed) : pointed;
  return isOfFunction(result)
    ? { ...unmarked(extras), role: 'function', content: wire }
    : { ...extraFieldsFor('chat', extras), role: 'tool', tool_call_id: callId, content: wire };
};

const attachmentsOf = ({ callId, content }: ToolResultBlock): Json[] => {
  const label = `Attached to the result of tool call ${callId}:`;
  return [{ type: 'text', text: label }, ...encodeParts(content.filter(isMedia))];
};

const encodeUser = (turn: Turn, sameProtocol: boolean): Json | undefined => {
  const rest = turn.blocks.filter((block) => !isResult(block));
  const content = contentOf(rest, sameProtocol);
  const holdsOnlyResults = rest.length === 0 && turn.blocks.length > 0;
  if (holdsOnlyResults || (content.length === 0 && !sameProtocol)) return undefined;
  return { ...extraFieldsFor('chat', turn.extras), role: 'user', content };
};

/**
 * Results as separate messages before all other content: upstreams require them right after their
 * calls. They carry text only, so media follow in a user message that names their call.
 */
const encodeResults = (run: Turn[]): Json[] => {
  const messages: Json[] = [];
  const attached: Json[] = [];
  for (const { blocks } of run) {
    for (const block of blocks) {
      if (!isResult(block)) continue;
      messages.push(encodeResult(block));
      if (block.content.some(isMedia)) attached.push(...attachmentsOf(block));
    }
  }
  if (attached.length > 0) messages.push({ role: 'user', content: attached });
  return messages;
};

const ENCODE = { assistant: encodeAssistant, user: encodeUser, system: encodeSystem };

/** Consecutive turns of one role. */
const encodeRun = (
  run: Run,
  position: number,
  { target, sameProtocol }: { target: WireTarget; sameProtocol: boolean },
): Json[] => {
  const [{ role }] = run;
  const messages = role === 'user' ? encodeResults(run) : [];
  // Many upstreams accept only one leading system message.
  const isJoined = role === 'system' && position === 0 && !sameProtocol;
  const turns = isJoined ? [{ role, blocks: run.flatMap(({ blocks }) => blocks) }] : run;
  for (const turn of turns) {
    const message = ENCODE[role](turn, sameProtocol, target);
    if (message) messages.push(message);
  }
  return messages;
};

/** What a model says between the results of its calls and what the user adds to them, where roles alternate. */
const BRIDGE = { role: 'assistant', content: 'OK.' };

const bridged = (messages: Json[], { turns }: WireTarget): Json[] =>
  turns === 'alternating'
    ? messages.flatMap((message, index) =>
        followsResult(message, index, messages) ? [BRIDGE, message] : [message],
      )
    : messages;

/**
 * The conversation as chat messages.
 * @throws ApiError 400 when a request of another protocol has no part that chat can carry.
 */
export const encodeTurns = (request: GenerationRequest, target: WireTarget): Json[] => {
  const { turns, extras } = withReasoningHistory(withFittingCallIds(request, target), target);
  const sameProtocol = extras.protocol === 'chat';
  const ordered = sameProtocol ? turns : resultsFirst(turns);
  const runs = runsOf(ordered, (last, next) => last.role === next.role);
  const messages = runs.flatMap((run, position) =>
    encodeRun(run, position, { target, sameProtocol }),
  );
  const isSpoken = turns.some(({ role }) => role !== 'system');
  const isLost = isSpoken && messages.every(({ role }) => role === 'system');
  if (!sameProtocol && (messages.length === 0 || isLost)) throw noContent();
  const all = bridged(messages, target);
  return target.content === 'text' ? all.map(withOneText) : all;
};
