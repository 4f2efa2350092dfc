import { reminderEdits, spokenReference } from '#late/crossing';
import { encodeMessagesTurns } from '#late/encoders';
import { mapOnce } from '../../support/memo.ts';
import { isEmpty, omitUndefined } from '../../support/objects.ts';
import { inside, insideEach, isBlankText, setMembers, withoutNulls } from '../bytes/edits.ts';
import { asArray, asRecord, asString, type Json } from '../bytes/json.ts';
import { type Edit, remove, set } from '../bytes/splice.ts';
import type { NativeTool, Tool } from '../generation.ts';
import { billingEdits, instructionEdits } from '../instructions.ts';
import { noContent } from '../ledger/assert-consistent.ts';
import { extraFieldsFor } from '../ledger/extras.ts';
import { type Context, createEditsOf, repairEdits } from '../request-edits.ts';
import { ownSignature } from '../thinking/origin.ts';
import { withCallerBetas } from './headers.ts';
import { needsRepair } from './history.ts';
import { vendorMessageId } from './ids.ts';
import { encodeEffort, fitTo } from './request.ts';
import { encodeThinking } from './thinking.ts';
import { encodeToolChoice, originalTool } from './tools.ts';

// --- fields at the top level ---

/** Settings of an agent, with paths of its user's machine, are never forwarded. */
const unsent = ({ received }: Context): Edit[] => [
  ...withoutNulls(received),
  ...('safeguards' in received ? [remove(['safeguards'])] : []),
];

const cap = ({ request: { maxTokens }, target: { maxOutputTokens } }: Context): Edit[] =>
  maxTokens !== undefined && maxTokens > maxOutputTokens
    ? [set(['max_tokens'], maxOutputTokens)]
    : [];

/** `thinking`, and the fields whose allowed values depend on it. */
const thinking = ({ received, request, fitted, target }: Context): Edit[] => {
  const passthrough = extraFieldsFor('messages', fitted.extras);
  const isLowered = (request.maxTokens ?? 0) > target.maxOutputTokens;
  const limit = isLowered ? target.maxOutputTokens : Number.POSITIVE_INFINITY;
  const encoded = encodeThinking(fitted, passthrough, { target, cap: limit });
  return setMembers(received, {
    thinking: encoded.thinking,
    context_management: encoded.contextManagement,
    ...{ temperature: undefined, top_p: undefined, top_k: undefined, ...encoded.sampling },
  });
};

/** `output_format` is the name of `output_config.format` in an older beta. */
const outputConfig = ({ received, request, fitted }: Context): Edit[] => {
  const { effort: _, format: own, ...rest } = asRecord(received.output_config) ?? {};
  const format = own ?? received.output_format ?? undefined;
  const effort = encodeEffort(fitted);
  const isTaken = fitted.responseFormat === request.responseFormat;
  const wanted = omitUndefined({ ...rest, effort, format: isTaken ? format : undefined });
  return setMembers(received, {
    output_config: isEmpty(wanted) ? undefined : wanted,
    output_format: undefined,
  });
};

const others = ({ received, request, fitted }: Context): Edit[] =>
  setMembers(received, {
    container: extraFieldsFor('messages', request.extras).container,
    ...(fitted.stop === undefined && { stop_sequences: undefined }),
  });

// --- tools ---

const schemaOf = (tool: Tool | NativeTool | undefined): Json | undefined =>
  tool === undefined || 'native' in tool || originalTool(tool) ? undefined : tool.parameters;

const tools = ({ received, request, fitted }: Context): Edit[] => {
  const sent = asArray(received.tools);
  // The vendor rejects a choice without tools.
  if (sent.length === 0) {
    return ['tools', 'tool_choice'].flatMap((name) => (name in received ? [remove([name])] : []));
  }
  const isKept =
    fitted.toolChoice === request.toolChoice &&
    fitted.parallelToolCalls === request.parallelToolCalls;
  const choice = isKept ? {} : { tool_choice: encodeToolChoice(fitted) };
  const schemas = insideEach(received, 'tools', (tool, index) => {
    const input_schema = schemaOf(fitted.tools?.[index]);
    return input_schema ? setMembers(tool, { input_schema }) : [];
  });
  return [...setMembers(received, choice), ...schemas];
};

// --- the conversation ---

/** What the edits of a message depend on. */
type Taker = Record<'thinkingFrom' | 'systemTurns' | 'references', string | undefined>;

/** Thinking is valid only at its origin, with the signature that it issued there. */
const sealed = (part: Json, { thinkingFrom }: Taker): Edit[] => {
  const name = part.type === 'thinking' ? 'signature' : 'data';
  const own = ownSignature(part[name], thinkingFrom);
  if (!own) return [remove([])];
  return own === part[name] ? [] : [set([name], own)];
};

/** `image/jpg` is in use but not registered. */
const media = ({ source }: Json): Edit[] =>
  asString(asRecord(source)?.media_type)?.toLowerCase() === 'image/jpg'
    ? [set(['source', 'media_type'], 'image/jpeg')]
    : [];

const partEdits = (part: Json, taker: Taker): Edit[] => {
  switch (part.type) {
    case 'text':
      return isBlankText(part.text) ? [remove([])] : [];
    case 'thinking':
    case 'redacted_thinking':
      return sealed(part, taker);
    case 'image':
      return media(part);
    case 'tool_use':
      return [
        ...(asRecord(part.input) ? [] : [set(['input'], {})]),
        // As SDKs send back a call of Bedrock's, which Bedrock rejects.
        ...(part.caller === null ? [remove(['caller'])] : []),
      ];
    case 'tool_result':
      return contentEdits(part, 'content', taker);
    case 'tool_reference':
      return taker.references === undefined ? [] : [set([], spokenReference(part))];
    default:
      return [];
  }
};

/** Of a list of parts, or of a text, which needs none. */
const contentEdits = (holder: Json, name: string, taker: Taker): Edit[] =>
  insideEach(holder, name, (part) => partEdits(part, taker));

/** Whether an item of a list is removed whole. */
const isItemRemoval = ({ remove: isRemoved, path }: Edit): boolean =>
  isRemoved === true && path.length === 2;

/** The edits of `holder`, whose content is the member `name`; undefined if nothing is left of it. */
const leftOf = (
  holder: Json,
  name: string,
  taker: Taker,
  editsOfPart = partEdits,
): Edit[] | undefined => {
  const content = holder[name];
  if (!Array.isArray(content)) {
    return content == null || isBlankText(content) ? undefined : [];
  }
  const edits = insideEach(holder, name, (part) => editsOfPart(part, taker));
  return edits.filter(isItemRemoval).length === content.length ? undefined : edits;
};

/** A system turn that sets options, for a target that accepts one in the middle. */
const isSetting = ({ role, content: _, ...options }: Json, { systemTurns }: Taker): boolean =>
  role === 'system' &&
  systemTurns !== 'leading' &&
  Object.values(options).some((value) => value !== null);

const messageEdits = (message: Json, taker: Taker): Edit[] => {
  const inMiddle = taker.systemTurns === 'leading' ? reminderEdits(message) : [];
  const ofParts = leftOf(message, 'content', taker);
  if (ofParts) return [...ofParts, ...withoutNulls(message), ...inMiddle];
  if (!isSetting(message, taker)) return [remove([])];
  return [...withoutNulls(message), ...(message.content == null ? [] : [remove(['content'])])];
};

const messagesEdits = mapOnce((message: Json, index, taker: Taker) =>
  inside(['messages', index], messageEdits(message, taker)),
);

/** Of the system prompt, for a target that would read an agent's billing line as a part of it. */
const spokenEdits = (part: Json, taker: Taker): Edit[] => {
  const line = billingEdits(part, 'text');
  return line.length > 0 ? line : partEdits(part, taker);
};

const system = ({ received, target }: Context, taker: Taker): Edit[] => {
  if (received.system == null) return [];
  const isSpoken = target.billingLine === false;
  const [line] = isSpoken ? billingEdits(received, 'system') : [];
  if (line) return [line.remove ? remove(['system']) : line];
  const edits = leftOf(received, 'system', taker, isSpoken ? spokenEdits : partEdits);
  return edits ?? [remove(['system'])];
};

/** @throws ApiError 400 when no content is left */
const history = (context: Context): Edit[] => {
  const messages = asArray(context.received.messages) as Json[];
  if (needsRepair(messages)) {
    // In the canonical form's order, and with its ids.
    const encoded = encodeMessagesTurns(context.fitted, context.target);
    return repairEdits({ system: undefined, ...encoded }, context, false);
  }
  const { thinkingFrom } = context.request;
  const { instructions } = context.fitted;
  const { systemTurns, hintsWithout } = context.target;
  const references = hintsWithout?.find((name) => name === 'tool_reference');
  const taker: Taker = { thinkingFrom, systemTurns, references };
  const edits = messagesEdits(messages, taker).flat();
  if (edits.filter(isItemRemoval).length === messages.length) throw noContent();
  return [
    ...edits,
    ...(instructions ? instructionEdits(messages, instructions, false) : []),
    ...system(context, taker),
  ];
};

/** The message to compare with is named by the vendor's id. */
const diagnostics = ({ received }: Context): Edit[] => {
  const sent = asString(asRecord(received.diagnostics)?.previous_message_id) ?? '';
  const id = vendorMessageId(sent);
  return id === sent ? [] : [set(['diagnostics', 'previous_message_id'], id)];
};

const editsAt = createEditsOf('messages', fitTo)(
  unsent,
  cap,
  thinking,
  outputConfig,
  others,
  tools,
  history,
  diagnostics,
);

/** The target's betas are those that the caller asks for too. */
export const editsOf: typeof editsAt = (request, target, received) =>
  editsAt(request, withCallerBetas(target, request), received);
