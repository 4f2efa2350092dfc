import { encodeChatTurns } from '#late/encoders';
import { mapOnce } from '../../support/memo.ts';
import { inside, insideEach, removeMember, setMembers, withoutNulls } from '../bytes/edits.ts';
import { asArray, asRecord, asString, type Json } from '../bytes/json.ts';
import { type Edit, remove, set } from '../bytes/splice.ts';
import { encodeMaxTokens, encodeUser } from '../fit-request.ts';
import { billingEdits, instructionEdits } from '../instructions.ts';
import { EARLIER_THINKING } from '../profile.ts';
import type { WireTarget } from '../protocol.ts';
import { type Context, createEditsOf, idEdits, repairEdits } from '../request-edits.ts';
import { fittingToolName } from '../tools/names.ts';
import { fitsForm, followsResult, repeatsRole, withOneText } from './compat.ts';
import { usesFunctions } from './functions.ts';
import { asksForUsage, fitTo, takesCustomTools } from './request.ts';
import { decodeThoughts } from './signed-thinking.ts';
import { encodeToolFields } from './tools.ts';
import { TOOL_FIELDS } from './wire.ts';

// --- histories that are encoded again ---

/** Parts of the messages protocol, and what no message of a result can hold. */
const BORROWED = ['tool_use', 'tool_result', 'image'];

const isResult = ({ role }: Json): boolean => role === 'tool' || role === 'function';

const needsOtherForm = (message: Json): boolean => {
  const types = asArray(message.content).map((part) => asRecord(part)?.type);
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

/** What decides on a message for every target. */
const formsOf = mapOnce((message: Json) => ({
  role: message.role,
  isOther: needsOtherForm(message),
}));

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
  const { toolCallIds: ids } = target;
  if (ids && !messages.flatMap(idsIn).every((id) => fitsForm(id, ids))) return true;
  return formsOf(messages).some(
    (form, index, forms) => form.isOther || (isResult(form) && forms[index - 1]?.role === 'user'),
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
  const wanted = {
    name: fittingToolName(asString(called.name) ?? ''),
    arguments: argumentsOf(called.arguments),
  };
  // The OpenAI SDK adds what it parsed.
  const edits = [...setMembers(called, wanted), ...removeMember(called, 'parsed_arguments')];
  return inside([member], edits);
};

const callEdits = (call: Json): Edit[] => [
  ...idEdits(call, 'id'),
  // Callers who put a stream together keep the index.
  ...setMembers(call, { type: call.type ?? 'function', index: undefined }),
  ...functionEdits(call, 'function'),
];

type History = WireTarget['reasoningHistory'];

/** What client libraries add to the responses that they send back, and thinking that is not this target's. */
const addedMembers = (message: Json, history: History): string[] => {
  const isSigned = decodeThoughts(message.reasoning_details).length > 0;
  const added = [
    ...['annotations', 'parsed', 'provider_specific_fields'],
    ...(history === 'refused' ? EARLIER_THINKING : []),
    ...(isSigned ? ['reasoning_details', 'reasoning_content'] : []),
  ];
  return [...new Set(added)].filter((name) => message[name] != null);
};

const CONTENT = ['tool_calls', 'function_call', 'refusal', 'audio'];

const hasOther = (message: Json): boolean => CONTENT.some((name) => message[name] != null);

/** Thinking by the name under which the target reads it. */
const thinkingEdits = ({ reasoning, reasoning_content: text }: Json, history: History): Edit[] =>
  history === 'reasoning' && asString(text) && reasoning == null
    ? [remove(['reasoning_content']), set(['reasoning'], text)]
    : [];

const assistantEdits = (message: Json, history: History): Edit[] => {
  const added = addedMembers(message, history);
  return [
    ...added.map((name) => remove([name])),
    ...(added.includes('reasoning_content') ? [] : thinkingEdits(message, history)),
    ...insideEach(message, 'tool_calls', callEdits),
    ...functionEdits(message, 'function_call'),
    ...(message.content == null && !hasOther(message) ? [set(['content'], '')] : []),
  ];
};

/** An agent's billing line is left out; `developer` is the newer name of a role that every upstream knows. */
const systemEdits = (message: Json): Edit[] => {
  const { role, content } = message;
  const ofText = billingEdits(message, 'content');
  const lines = [
    ...ofText,
    ...insideEach(message, 'content', (part) => billingEdits(part, 'text')),
  ];
  const removed = lines.filter((edit) => edit.remove).length;
  if (removed > 0 && removed >= asArray(content).length) return [remove([])];
  return role === 'developer' ? [...lines, set(['role'], 'system')] : lines;
};

const roleEdits = (message: Json, history: History): Edit[] => {
  if (message.role === 'assistant') return assistantEdits(message, history);
  if (isSystem(message)) return systemEdits(message);
  if (!isResult(message)) return [];
  return [
    ...idEdits(message, 'tool_call_id'),
    ...(message.content == null ? [set(['content'], '')] : []),
  ];
};

/** `isText`: whether the target takes no lists of parts. */
const messageEdits = (received: Json, history: History, isText: boolean): Edit[] => {
  const message = isText ? withOneText(received) : received;
  const { content } = message;
  return [
    ...(content === received.content ? [] : [set(['content'], content)]),
    ...withoutNulls(message, 'content'),
    ...insideEach(message, 'content', partEdits),
    ...roleEdits(message, history),
  ];
};

const messagesEdits = mapOnce((message: Json, index, history: History, isText: boolean) =>
  inside(['messages', index], messageEdits(message, history, isText)),
);

/** The edits of the messages, or of all of them as one. */
const historyEdits = (context: Context): Edit[] => {
  const { fitted, target, received } = context;
  const isText = target.content === 'text';
  const sent = asArray(received.messages) as Json[];
  const messages = isText ? sent.map(withOneText) : sent;
  if (needsRepair(messages, context)) {
    return repairEdits({ messages: encodeChatTurns(fitted, target) }, context, true);
  }
  return [
    ...messagesEdits(sent, target.reasoningHistory, isText).flat(),
    ...(fitted.instructions ? instructionEdits(messages, fitted.instructions, true) : []),
  ];
};

/** Usage is requested where the provider takes that: the call's record needs it. */
const streamOptions = ({ received, request, target }: Context): Edit[] => {
  const { stream_options: options } = received;
  if (!asksForUsage(request, target)) return options == null ? [] : [remove(['stream_options'])];
  const stated = asRecord(options);
  if (!stated) return [set(['stream_options'], { include_usage: true })];
  return inside(['stream_options'], setMembers(stated, { include_usage: true }));
};

const members = ({ received, request, fitted, target }: Context): Edit[] => {
  const newer = received.max_completion_tokens != null && ('max_completion_tokens' as const);
  return setMembers(received, {
    ...{ max_tokens: undefined, max_completion_tokens: undefined },
    [target.maxTokensField ?? (newer || 'max_tokens')]: encodeMaxTokens(request, target),
    ...{ temperature: fitted.temperature, top_p: fitted.topP, top_k: fitted.topK },
    reasoning_effort: fitted.reasoning?.effort,
    user: encodeUser(request),
    ...(fitted.stop === undefined && { stop: undefined }),
  });
};

/** Fields that a model may reject, without a canonical form. */
const REJECTED = [
  ...['frequency_penalty', 'presence_penalty', 'logit_bias', 'logprobs', 'top_logprobs'],
  'metadata',
];

const rejected = ({ request, fitted }: Context): Edit[] =>
  REJECTED.filter((name) => name in request.extras.fields && !(name in fitted.extras.fields)).map(
    (name) => remove([name]),
  );

/** The vendor requires a name. */
const responseFormat = ({ received: { response_format: format } }: Context): Edit[] => {
  const schema = asRecord(asRecord(format)?.json_schema);
  if (!schema) return [];
  const wanted = { name: schema.name ?? 'output', schema: schema.schema ?? {} };
  return inside(['response_format', 'json_schema'], setMembers(schema, wanted));
};

// --- tools ---

/** Choices of the messages protocol, which agents send next to its tools. */
const isBorrowedChoice = (choice: unknown): boolean =>
  ['auto', 'any', 'none', 'tool'].includes(asString(asRecord(choice)?.type) ?? '');

/** A function's schema, or the whole of a tool that has another form: of the messages protocol, or a custom tool. */
const toolEdits = (tool: Json, wanted: Json): Edit[] => {
  if ('input_schema' in tool || ('custom' in tool && 'function' in wanted))
    return [set([], wanted)];
  const called = asRecord(tool.function);
  const [own, fitting] = called ? [called, asRecord(wanted.function) ?? {}] : [tool, wanted];
  if (!('parameters' in fitting)) return [];
  const edits = setMembers(own, { parameters: fitting.parameters });
  return called ? inside(['function'], edits) : edits;
};

const tools = ({ received, request, fitted, target }: Context): Edit[] => {
  const present = TOOL_FIELDS.filter((field) => field in received);
  if (present.length === 0) return [];
  const name = usesFunctions(request) ? 'functions' : 'tools';
  const sent = asArray(received[name]);
  // The vendor rejects the others without tools.
  if (sent.length === 0) return present.map((field) => remove([field]));
  const encoded = encodeToolFields(fitted);
  const list = asArray(encoded[name]);
  const isForeign = isBorrowedChoice(received.tool_choice);
  const isFitted =
    fitted.toolChoice !== request.toolChoice ||
    fitted.parallelToolCalls !== request.parallelToolCalls;
  const isChanged = isForeign || isFitted || !takesCustomTools(request, target);
  const choices = isChanged ? ['tool_choice', 'function_call', 'parallel_tool_calls'] : [];
  return [
    ...insideEach(received, name, (tool, index) => toolEdits(tool, asRecord(list[index]) ?? {})),
    ...setMembers(received, Object.fromEntries(choices.map((field) => [field, encoded[field]]))),
  ];
};

export const editsOf = createEditsOf('chat', fitTo)(
  ({ received }) => withoutNulls(received),
  streamOptions,
  members,
  rejected,
  responseFormat,
  tools,
  historyEdits,
);
