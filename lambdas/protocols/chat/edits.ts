import { setMember, withoutNulls } from '../bytes/edits.ts';
import { asArray, asRecord, asString, type Json } from '../bytes/json.ts';
import { isSameJson } from '../bytes/numbers.ts';
import { type Edit, remove, set } from '../bytes/splice.ts';
import { encodeMaxTokens, encodeUser } from '../fit-effort.ts';
import { type Context, createEditsOf } from '../request-edits.ts';
import { usesFunctions } from './functions.ts';
import { historyEdits } from './history-edits.ts';
import { NAME } from './name.ts';
import { fitTo, takesCustomTools } from './request.ts';
import { encodeToolFields } from './tools.ts';

const unsent = ({ received }: Context): Edit[] => withoutNulls(received);

/** Usage is always requested: the call's record needs it. */
const streamOptions = ({ received, request }: Context): Edit[] => {
  const { stream_options: options } = received;
  if (!request.stream) return options == null ? [] : [remove(['stream_options'])];
  if (!asRecord(options)) return [set(['stream_options'], { include_usage: true })];
  const isIncluded = asRecord(options)?.include_usage === true;
  return isIncluded ? [] : [set(['stream_options', 'include_usage'], true)];
};

const CAPS = ['max_tokens', 'max_completion_tokens'];

const cap = ({ received, request, target }: Context): Edit[] => {
  const own = received.max_completion_tokens == null ? CAPS[0] : CAPS[1];
  const field = target.maxTokensField ?? own;
  const value = encodeMaxTokens(request, target);
  return CAPS.flatMap((name) => setMember(received, name, name === field ? value : undefined));
};

/** Fields that a model may reject, without a canonical form. */
const REJECTED = [
  ...['frequency_penalty', 'presence_penalty', 'logit_bias', 'logprobs', 'top_logprobs'],
  'metadata',
];

const rejected = ({ received, request, fitted }: Context): Edit[] => {
  const { temperature, topP: top_p, topK: top_k, extras } = fitted;
  const kept: Json = { temperature, top_p, top_k };
  const canonical = Object.keys(kept).flatMap((name) =>
    setMember(received, name, kept[name] ?? undefined),
  );
  const others = REJECTED.filter(
    (name) => name in request.extras.fields && !(name in extras.fields),
  );
  return [...canonical, ...others.map((name) => remove([name]))];
};

const effort = ({ received, fitted }: Context): Edit[] =>
  setMember(received, 'reasoning_effort', fitted.reasoning?.effort);

const user = ({ received, request }: Context): Edit[] =>
  setMember(received, 'user', encodeUser(request));

const stops = ({ received: { stop }, fitted }: Context): Edit[] =>
  stop != null && fitted.stop === undefined ? [remove(['stop'])] : [];

/** The vendor requires a name. */
const responseFormat = ({ received: { response_format: format } }: Context): Edit[] => {
  const schema = asRecord(asRecord(format)?.json_schema);
  const path = ['response_format', 'json_schema'];
  if (!schema) return [];
  return [
    ...(schema.name == null ? [set([...path, 'name'], 'output')] : []),
    ...(schema.schema == null ? [set([...path, 'schema'], {})] : []),
  ];
};

// --- tools ---

const TOOL_FIELDS = ['tools', 'functions', 'tool_choice', 'function_call', 'parallel_tool_calls'];

/** Choices of the messages protocol, which agents send next to its tools. */
const isBorrowedChoice = (choice: unknown): boolean =>
  ['auto', 'any', 'none', 'tool'].includes(asString(asRecord(choice)?.type) ?? '');

/** A function's schema, or the whole of a tool that has another form: of the messages protocol, or a custom tool. */
const toolEdits = (sent: unknown, encoded: unknown, path: Edit['path']): Edit[] => {
  const [tool, wanted] = [asRecord(sent) ?? {}, asRecord(encoded) ?? {}];
  if ('input_schema' in tool || ('custom' in tool && 'function' in wanted))
    return [set(path, wanted)];
  const isFunction = asRecord(tool.function) !== undefined;
  const [own, fitting] = isFunction
    ? [asRecord(tool.function), asRecord(wanted.function)]
    : [tool, wanted];
  if (!fitting || !('parameters' in fitting)) return [];
  if (isSameJson(own?.parameters, fitting.parameters)) return [];
  return [set([...path, ...(isFunction ? ['function'] : []), 'parameters'], fitting.parameters)];
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
    ...sent.flatMap((tool, index) => toolEdits(tool, list[index], [name, index])),
    ...choices.flatMap((field) => setMember(received, field, encoded[field])),
  ];
};

export const editsOf = createEditsOf(NAME, fitTo)(
  unsent,
  streamOptions,
  cap,
  rejected,
  effort,
  user,
  stops,
  responseFormat,
  tools,
  historyEdits,
);
