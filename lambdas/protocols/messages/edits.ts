import { encodeMessagesTurns } from '#late/encoders';
import { isBlankText, setMember, withoutNulls } from '../bytes/edits.ts';
import { asArray, asRecord, asString, type Json } from '../bytes/json.ts';
import { isSameJson } from '../bytes/numbers.ts';
import { type Edit, remove, set } from '../bytes/splice.ts';
import type { NativeTool, Tool } from '../generation.ts';
import { instructionEdits, reminderOf } from '../instructions.ts';
import { noContent } from '../ledger/assert-consistent.ts';
import { extraFieldsFor } from '../ledger/extras.ts';
import { type Context, createEditsOf, repairEdits } from '../request-edits.ts';
import { ownSignature } from '../thinking/origin.ts';
import { withCallerBetas } from './headers.ts';
import { needsRepair } from './history.ts';
import { vendorMessageId } from './ids.ts';
import { NAME } from './name.ts';
import { encodeEffort, fitTo } from './request.ts';
import { encodeThinking } from './thinking.ts';
import { encodeToolChoice, originalTool } from './tools.ts';

type Path = Edit['path'];

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
  const passthrough = extraFieldsFor(NAME, fitted.extras);
  const isLowered = (request.maxTokens ?? 0) > target.maxOutputTokens;
  const limit = isLowered ? target.maxOutputTokens : Number.POSITIVE_INFINITY;
  const encoded = encodeThinking(fitted, passthrough, { target, cap: limit });
  return [
    ...setMember(received, 'thinking', encoded.thinking),
    ...setMember(received, 'context_management', encoded.contextManagement),
    ...['temperature', 'top_p', 'top_k'].flatMap((name) =>
      setMember(received, name, encoded.sampling[name]),
    ),
  ];
};

/** `output_format` is the name of `output_config.format` in an older beta. */
const outputConfig = ({ received, fitted }: Context): Edit[] => {
  const config = asRecord(received.output_config);
  const format = config?.format ?? received.output_format;
  const effort = encodeEffort(fitted);
  const { effort: _, ...rest } = config ?? {};
  const wanted = {
    ...rest,
    ...(effort !== undefined && { effort }),
    ...(format != null && { format }),
  };
  const isAbsent = Object.keys(wanted).length === 0;
  return [
    ...setMember(
      received,
      'output_config',
      isAbsent && config ? undefined : isAbsent ? config : wanted,
    ),
    ...('output_format' in received ? [remove(['output_format'])] : []),
  ];
};

const container = ({ received, request }: Context): Edit[] =>
  setMember(received, 'container', extraFieldsFor(NAME, request.extras).container);

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
  const choice = isKept ? [] : setMember(received, 'tool_choice', encodeToolChoice(fitted));
  const schemas = sent.flatMap((tool, index) => {
    const schema = schemaOf(fitted.tools?.[index]);
    const isFitted = schema === undefined || isSameJson(asRecord(tool)?.input_schema, schema);
    return isFitted ? [] : [set(['tools', index, 'input_schema'], schema)];
  });
  return [...choice, ...schemas];
};

const stops = ({ received, fitted }: Context): Edit[] =>
  received.stop_sequences != null && fitted.stop === undefined ? [remove(['stop_sequences'])] : [];

// --- the conversation ---

/** Thinking is valid only at its origin, with the signature that it issued there. */
const sealed = (part: Json, path: Path, { request: { thinkingFrom } }: Context): Edit[] => {
  const name = part.type === 'thinking' ? 'signature' : 'data';
  const own = ownSignature(part[name], thinkingFrom);
  if (!own) return [remove(path)];
  return own === part[name] ? [] : [set([...path, name], own)];
};

/** `image/jpg` is in use but not registered. */
const media = ({ source }: Json, path: Path): Edit[] =>
  asString(asRecord(source)?.media_type)?.toLowerCase() === 'image/jpg'
    ? [set([...path, 'source', 'media_type'], 'image/jpeg')]
    : [];

const partEdits = (part: Json, path: Path, context: Context): Edit[] => {
  switch (part.type) {
    case 'text':
      return isBlankText(part.text) ? [remove(path)] : [];
    case 'thinking':
    case 'redacted_thinking':
      return sealed(part, path, context);
    case 'image':
      return media(part, path);
    case 'tool_use':
      return asRecord(part.input) ? [] : [set([...path, 'input'], {})];
    case 'tool_result':
      return contentEdits(part.content, [...path, 'content'], context);
    default:
      return [];
  }
};

/** Of a list of parts, or of a text, which needs none. */
const contentEdits = (content: unknown, path: Path, context: Context): Edit[] =>
  Array.isArray(content)
    ? content.flatMap((part, index) => partEdits(asRecord(part) ?? {}, [...path, index], context))
    : [];

const isRemoval = ({ remove: isRemoved, path }: Edit, level: number): boolean =>
  isRemoved === true && path.length === level;

/** A system turn that sets options, for a target that accepts one in the middle. */
const isSetting = ({ role, content: _, ...options }: Json, { target }: Context): boolean =>
  role === 'system' &&
  target.systemTurns !== 'leading' &&
  Object.values(options).some((value) => value !== null);

const withoutContent = (message: Json, path: Path): Edit[] => [
  ...withoutNulls(message, path),
  ...(message.content == null ? [] : [remove([...path, 'content'])]),
];

/** A system prompt in the middle as a user's turn, for a target that accepts one only before the conversation. */
const reminders = (
  { role, content, ...options }: Json,
  path: Path,
  { target }: Context,
): Edit[] => {
  if (role !== 'system' || target.systemTurns !== 'leading') return [];
  const unset = Object.keys(options).flatMap((name) =>
    options[name] === null ? [] : [remove([...path, name])],
  );
  const asUser = [...unset, set([...path, 'role'], 'user')];
  const text = asString(content);
  if (text !== undefined) return [...asUser, set([...path, 'content'], reminderOf(text))];
  const texts = asArray(content).flatMap((part, index) => {
    const own = asString(asRecord(part)?.text);
    return own === undefined || isBlankText(own)
      ? []
      : [set([...path, 'content', index, 'text'], reminderOf(own))];
  });
  return [...asUser, ...texts];
};

const messageEdits = (message: Json, index: number, context: Context): Edit[] => {
  const path = ['messages', index];
  const { content } = message;
  const ofParts = contentEdits(content, [...path, 'content'], context);
  const removed = ofParts.filter((edit) => isRemoval(edit, path.length + 2)).length;
  const isEmpty = Array.isArray(content)
    ? removed === content.length
    : content == null || isBlankText(content);
  if (isEmpty) return isSetting(message, context) ? withoutContent(message, path) : [remove(path)];
  return [...ofParts, ...withoutNulls(message, path), ...reminders(message, path, context)];
};

const system = (context: Context): Edit[] => {
  const { system: prompt } = context.received;
  if (prompt == null) return [];
  const ofParts = contentEdits(prompt, ['system'], context);
  const isEmpty = Array.isArray(prompt)
    ? ofParts.length === prompt.length
    : prompt === '' || isBlankText(prompt);
  return isEmpty ? [remove(['system'])] : ofParts;
};

/** @throws ApiError 400 when no content is left */
const history = (context: Context): Edit[] => {
  const messages = asArray(context.received.messages).map((message) => asRecord(message) ?? {});
  if (needsRepair(messages)) {
    // In the canonical form's order, and with its ids.
    const encoded = encodeMessagesTurns(context.fitted, context.target);
    return repairEdits({ system: undefined, ...encoded }, context, false);
  }
  const edits = messages.flatMap((message, index) => messageEdits(message, index, context));
  if (edits.filter((edit) => isRemoval(edit, 2)).length === messages.length) throw noContent();
  return [...edits, ...instructionEdits(messages, context.fitted, false), ...system(context)];
};

/** The message to compare with is named by the vendor's id. */
const diagnostics = ({ received }: Context): Edit[] => {
  const sent = asString(asRecord(received.diagnostics)?.previous_message_id) ?? '';
  const id = vendorMessageId(sent);
  return id === sent ? [] : [set(['diagnostics', 'previous_message_id'], id)];
};

const editsAt = createEditsOf(NAME, fitTo)(
  unsent,
  cap,
  thinking,
  outputConfig,
  container,
  tools,
  stops,
  history,
  diagnostics,
);

/** The target's betas are those that the caller asks for too. */
export const editsOf: typeof editsAt = (request, target, received) =>
  editsAt(request, withCallerBetas(target, request), received);
