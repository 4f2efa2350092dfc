import { setMember } from '../bytes/edits.ts';
import { asArray, asRecord, asString, type Json } from '../bytes/json.ts';
import { isSameJson } from '../bytes/numbers.ts';
import { type Edit, remove, set } from '../bytes/splice.ts';
import { fitSchema } from '../fit-request.ts';
import type { WireTarget } from '../protocol.ts';
import { type Context, createEditsOf, idEdits } from '../request-edits.ts';
import { ownSignature } from '../thinking/origin.ts';
import { openThinking } from '../thinking/sealed.ts';
import { fitTo, instructionItems, mayReason, SEALED } from './encode-request.ts';
import { NAME } from './name.ts';

type Path = Edit['path'];

// --- fields at the top level ---

const store = ({ received, target }: Context): Edit[] =>
  target.store === true ? [] : setMember(received, 'store', false);

/** Its reasoning is sent back by callers, as nothing is stored. */
const include = ({ received, target }: Context): Edit[] => {
  const asked = asArray(received.include);
  if (!mayReason(target)) {
    const others = asked.filter((name) => name !== SEALED);
    return others.length === asked.length ? [] : [set(['include'], others)];
  }
  return asked.includes(SEALED) ? [] : [set(['include'], [...asked, SEALED])];
};

const cap = ({ request: { maxTokens = 0 }, target: { maxOutputTokens } }: Context): Edit[] =>
  maxTokens > maxOutputTokens ? [set(['max_output_tokens'], maxOutputTokens)] : [];

/** What the target's model rejects. */
const rejected = ({ received, request, fitted }: Context): Edit[] => {
  const names = [
    ...(request.temperature !== fitted.temperature ? ['temperature'] : []),
    ...(request.topP !== fitted.topP ? ['top_p'] : []),
    ...(request.parallelToolCalls !== fitted.parallelToolCalls ? ['parallel_tool_calls'] : []),
  ];
  return names.filter((name) => name in received).map((name) => remove([name]));
};

const effort = ({ received, request, fitted }: Context): Edit[] => {
  const wanted = fitted.reasoning?.effort;
  if (wanted === request.reasoning?.effort) return [];
  if (wanted !== undefined) return [set(['reasoning', 'effort'], wanted)];
  return received.reasoning == null ? [] : [remove(['reasoning'])];
};

// --- tools ---

const toolEdits = (tools: unknown, target: WireTarget, path: Path): Edit[] =>
  asArray(tools).flatMap((one, index) => {
    const { type, parameters, tools: inner } = asRecord(one) ?? {};
    const at = [...path, index];
    if (type === 'namespace') return toolEdits(inner, target, [...at, 'tools']);
    const schema = asRecord(parameters);
    const fitting = schema && fitSchema(schema, target);
    const isKept = fitting === undefined || isSameJson(schema, fitting);
    return isKept ? [] : [set([...at, 'parameters'], fitting)];
  });

const tools = ({ received, request, fitted, target }: Context): Edit[] => [
  ...(target.schemaWithout ? toolEdits(received.tools, target, ['tools']) : []),
  // A choice that must not force a tool is asked for in words.
  ...(fitted.toolChoice === request.toolChoice
    ? []
    : [set(['tool_choice', ...(fitted.toolChoice ? ['mode'] : [])], 'auto')]),
];

// --- the conversation ---

/** Reasoning is valid only at its origin, in the form in which it was issued there. */
const reasoning = (item: Json, path: Path, { request: { thinkingFrom } }: Context): Edit[] => {
  const sealed = asString(item.encrypted_content);
  if (sealed === undefined) return asArray(item.content).length > 0 ? [] : [remove(path)];
  const own = ownSignature(openThinking(sealed)?.signature, thinkingFrom);
  return own ? [set([...path, 'encrypted_content'], own)] : [remove(path)];
};

const itemEdits = (item: Json, path: Path, context: Context): Edit[] => {
  if (item.type === 'reasoning') return reasoning(item, path, context);
  // Of reasoning: any other reference is rejected.
  return item.type === 'item_reference' ? [remove(path)] : idEdits(item, 'call_id', path);
};

/** The router's own sentences are behind all else. */
const input = (context: Context): Edit[] => {
  const { received, fitted } = context;
  const added = instructionItems(fitted);
  if (typeof received.input === 'string') {
    const said = { role: 'user', content: received.input };
    return added.length === 0 ? [] : [set(['input'], [said, ...added])];
  }
  const items = asArray(received.input);
  return [
    ...items.flatMap((item, index) => itemEdits(asRecord(item) ?? {}, ['input', index], context)),
    ...added.map((item, index) => set(['input', items.length + index], item)),
  ];
};

export const editsOf = createEditsOf(NAME, fitTo)(
  store,
  include,
  cap,
  rejected,
  effort,
  tools,
  input,
);
