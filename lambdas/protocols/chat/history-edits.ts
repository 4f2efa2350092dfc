import { encodeChatTurns } from '#late/encoders';
import { inside, insideEach, setMembers, withoutNulls } from '../bytes/edits.ts';
import { asArray, asRecord, asString, type Json } from '../bytes/json.ts';
import { type Edit, remove, set } from '../bytes/splice.ts';
import { instructionEdits, isBillingLine } from '../instructions.ts';
import { EARLIER_THINKING } from '../profile.ts';
import { type Context, idEdits, repairEdits } from '../request-edits.ts';
import { fittingToolName } from '../tools/names.ts';
import { fitsForm, followsResult, repeatsRole, withOneText } from './compat.ts';
import { decodeThoughts } from './signed-thinking.ts';

// --- histories that are encoded again ---

/** Parts of the messages protocol, and what no message of a result can hold. */
const BORROWED = ['tool_use', 'tool_result', 'image'];

const typesIn = (content: unknown): unknown[] =>
  asArray(content).map((part) => asRecord(part)?.type);

const isResult = ({ role }: Json): boolean => role === 'tool' || role === 'function';

const needsOtherForm = (message: Json): boolean => {
  const types = typesIn(message.content);
  return isResult(message)
    ? types.some((type) => type !== 'text')
    : types.some((type) => BORROWED.includes(String(type)));
};

const idsIn = (message: Json): string[] => {
  const calls = asArray(message.tool_calls).map((call) => asRecord(call)?.id);
  return [...calls, message.tool_call_id].flatMap((id) => asString(id) ?? []);
};

const isWithoutThinking = ({ role, reasoning_content }: Json): boolean =>
  role === 'assistant' && !reasoning_content;

const isSystem = ({ role }: Json): boolean => role === 'system' || role === 'developer';
const isLaterSystem = (message: Json, index: number): boolean => index > 0 && isSystem(message);

const holdsCustomCall = ({ tool_calls }: Json): boolean =>
  asArray(tool_calls).some((call) => asRecord(call)?.type === 'custom');

/**
 * Whether a vendor would reject the messages as they are: results that are not behind their calls or hold media, parts of
 * another protocol, and what the target's profile requires of ids and of earlier thinking.
 */
const needsRepair = (messages: Json[], { target }: Context): boolean => {
  if (target.systemTurns === 'leading' && messages.some(isLaterSystem)) return true;
  if (target.systemTurns === 'none' && messages.some(isSystem)) return true;
  if (target.turns === 'alternating') {
    if (messages.some(repeatsRole) || messages.some(followsResult)) return true;
  }
  if (target.customTools === false && messages.some(holdsCustomCall)) return true;
  if (target.reasoningHistory === 'required' && messages.some(isWithoutThinking)) return true;
  const { toolCallIds: form } = target;
  if (form && !messages.flatMap(idsIn).every((id) => fitsForm(id, form))) return true;
  return messages.some(
    (message, index) =>
      needsOtherForm(message) || (isResult(message) && messages[index - 1]?.role === 'user'),
  );
};

// --- single messages ---

/** `image/jpg` is in use but not registered. */
const JPG = /^data:image\/jpg[;,]/i;

const partEdits = (part: Json): Edit[] => {
  const url = asString(asRecord(part.image_url)?.url);
  if (url === undefined || !JPG.test(url)) return [];
  return [set(['image_url', 'url'], url.replace(/image\/jpg/i, 'image/jpeg'))];
};

/** Arguments are a text that is JSON; some clients send the value itself, or none. */
const argumentsOf = (value: unknown): string =>
  (asRecord(value) ? JSON.stringify(value) : asString(value)) || '{}';

/** Of the function that `holder` calls in the member `member`. */
const functionEdits = (holder: Json, member: 'function' | 'function_call'): Edit[] => {
  const called = asRecord(holder[member]);
  if (!called) return [];
  return inside(
    [member],
    [
      ...setMembers(called, {
        name: fittingToolName(asString(called.name) ?? ''),
        arguments: argumentsOf(called.arguments),
      }),
      // The OpenAI SDK adds what it parsed; strict providers reject it.
      ...('parsed_arguments' in called ? [remove(['parsed_arguments'])] : []),
    ],
  );
};

const callEdits = (call: Json): Edit[] => [
  ...idEdits(call, 'id'),
  ...(call.type === undefined ? [set(['type'], 'function')] : []),
  ...functionEdits(call, 'function'),
];

/** What client libraries add to the responses that they send back, and thinking that is not this target's. */
const addedMembers = (message: Json, { target }: Context): string[] => {
  const isSigned = decodeThoughts(message.reasoning_details).length > 0;
  const isRefused = target.reasoningHistory === 'refused';
  const added = [
    ...['parsed', 'provider_specific_fields'],
    ...(isRefused ? EARLIER_THINKING : []),
    ...(isSigned ? ['reasoning_details', 'reasoning_content'] : []),
  ];
  return [...new Set(added)].filter((name) => message[name] != null);
};

const CONTENT = ['tool_calls', 'function_call', 'refusal', 'audio'];

const hasOther = (message: Json): boolean => CONTENT.some((name) => message[name] != null);

const assistantEdits = (message: Json, context: Context): Edit[] => [
  ...addedMembers(message, context).map((name) => remove([name])),
  ...insideEach(message, 'tool_calls', callEdits),
  ...functionEdits(message, 'function_call'),
  ...(message.content == null && !hasOther(message) ? [set(['content'], '')] : []),
];

/** An agent's accounting line is left out; `developer` is the newer name of a role that every upstream knows. */
const systemEdits = (message: Json): Edit[] => {
  const { role, content } = message;
  if (isBillingLine(content)) return [remove([])];
  const lines = insideEach(message, 'content', ({ text }) =>
    isBillingLine(text) ? [remove([])] : [],
  );
  if (lines.length > 0 && lines.length === asArray(content).length) return [remove([])];
  return role === 'developer' ? [...lines, set(['role'], 'system')] : lines;
};

const roleEdits = (message: Json, context: Context): Edit[] => {
  if (message.role === 'assistant') return assistantEdits(message, context);
  if (isSystem(message)) return systemEdits(message);
  return [
    ...idEdits(message, 'tool_call_id'),
    ...(isResult(message) && message.content == null ? [set(['content'], '')] : []),
  ];
};

const messageEdits = (message: Json, context: Context): Edit[] => [
  ...withoutNulls(message, 'content'),
  ...insideEach(message, 'content', partEdits),
  ...roleEdits(message, context),
];

/** The edits of the messages, or of all of them as one. */
export const historyEdits = (context: Context): Edit[] => {
  const { fitted, target, received } = context;
  const messages = asArray(received.messages).map((message) =>
    withOneText(asRecord(message) ?? {}, target),
  );
  if (needsRepair(messages, context)) {
    return repairEdits({ messages: encodeChatTurns(fitted, target) }, context, true);
  }
  return [
    ...insideEach(received, 'messages', ({ content }, index) => {
      const message = messages[index] ?? {};
      const edits = messageEdits(message, context);
      return message.content === content ? edits : [set(['content'], message.content), ...edits];
    }),
    ...instructionEdits(messages, fitted, true),
  ];
};
