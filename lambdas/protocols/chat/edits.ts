import { inside, insideEach, setMembers, withoutNulls } from '../bytes/edits.ts';
import { asArray, asRecord, asString, type Json } from '../bytes/json.ts';
import { type Edit, remove, set } from '../bytes/splice.ts';
import { encodeMaxTokens, encodeUser } from '../fit-effort.ts';
import { type Context, createEditsOf } from '../request-edits.ts';
import { usesFunctions } from './functions.ts';
import { historyEdits } from './history-edits.ts';
import { NAME } from './name.ts';
import { asksForUsage, fitTo, takesCustomTools } from './request.ts';
import { encodeToolFields } from './tools.ts';

const unsent = ({ received }: Context): Edit[] => withoutNulls(received);

/** Usage is requested where the provider takes that: the call's record needs it. */
const streamOptions = ({ received, request, target }: Context): Edit[] => {
  const { stream_options: options } = received;
  if (!asksForUsage(request, target)) return options == null ? [] : [remove(['stream_options'])];
  if (!asRecord(options)) return [set(['stream_options'], { include_usage: true })];
  const isIncluded = asRecord(options)?.include_usage === true;
  return isIncluded ? [] : [set(['stream_options', 'include_usage'], true)];
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

const TOOL_FIELDS = ['tools', 'functions', 'tool_choice', 'function_call', 'parallel_tool_calls'];

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
  const name = usesFunctions(request) ? 'functions' : 'tools';
  const sent = asArray(received[name]);
  // The vendor rejects the others without tools.
  if (sent.length === 0) {
    return TOOL_FIELDS.flatMap((field) => (field in received ? [remove([field])] : []));
  }
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

export const editsOf = createEditsOf(NAME, fitTo)(
  unsent,
  streamOptions,
  members,
  rejected,
  responseFormat,
  tools,
  historyEdits,
);
