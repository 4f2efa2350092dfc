import { insideEach, setMembers } from '../bytes/edits.ts';
import { asArray, asRecord, asString, type Json } from '../bytes/json.ts';
import { type Edit, remove, set } from '../bytes/splice.ts';
import type { Block } from '../generation.ts';
import type { WireTarget } from '../protocol.ts';
import { type Context, createEditsOf, idEdits } from '../request-edits.ts';
import { ownSignature } from '../thinking/origin.ts';
import { openThinking } from '../thinking/sealed.ts';
import { fitSchema } from '../tools/schemas.ts';
import { resultsFirst } from '../turn-runs.ts';
import { encodeInput } from './encode-items.ts';
import { fitTo, instructionItems, mayReason, SEALED } from './encode-request.ts';

// --- fields at the top level ---

const store = ({ received, target }: Context): Edit[] =>
  target.store === true ? [] : setMembers(received, { store: false });

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
const rejected = ({ received, fitted }: Context): Edit[] =>
  setMembers(received, {
    temperature: fitted.temperature,
    top_p: fitted.topP,
    parallel_tool_calls: fitted.parallelToolCalls,
  });

const effort = ({ received, request, fitted }: Context): Edit[] => {
  const wanted = fitted.reasoning?.effort;
  if (wanted === request.reasoning?.effort) return [];
  if (wanted !== undefined) return [set(['reasoning', 'effort'], wanted)];
  return received.reasoning == null ? [] : [remove(['reasoning'])];
};

// --- tools ---

const toolEdits = (holder: Json, target: WireTarget): Edit[] =>
  insideEach(holder, 'tools', (tool) => {
    if (tool.type === 'namespace') return toolEdits(tool, target);
    const schema = asRecord(tool.parameters);
    return schema ? setMembers(tool, { parameters: fitSchema(schema, target) }) : [];
  });

const isNative = ({ type }: Block): boolean => type === 'native';

/**
 * Whether the conversation is written again, for a provider that knows the common items only. A compacted one, or an item of a
 * type to come, has no other form.
 */
const isRewritten = ({ request: { turns }, target }: Context): boolean =>
  target.items === 'common' && !turns.some(({ blocks }) => blocks.some(isNative));

/** The tools that items of the conversation add. */
const addedTools = ({ input }: Json): unknown[] =>
  asArray(input).flatMap((item) => {
    const { type, tools: added } = asRecord(item) ?? {};
    return type === 'additional_tools' ? asArray(added) : [];
  });

const tools = (context: Context): Edit[] => {
  const { received, request, fitted, target } = context;
  const added = isRewritten(context) ? addedTools(received) : [];
  return [
    ...(added.length > 0 ? [set(['tools'], [...asArray(received.tools), ...added])] : []),
    ...(added.length === 0 && target.schemaWithout ? toolEdits(received, target) : []),
    // A choice that must not force a tool is asked for in words.
    ...(fitted.toolChoice === request.toolChoice
      ? []
      : [set(['tool_choice', ...(fitted.toolChoice ? ['mode'] : [])], 'auto')]),
  ];
};

// --- the conversation ---

/** Reasoning is valid only at its origin, in the form in which it was issued there. */
const reasoning = (item: Json, { request: { thinkingFrom } }: Context): Edit[] => {
  const sealed = asString(item.encrypted_content);
  if (sealed === undefined) return asArray(item.content).length > 0 ? [] : [remove([])];
  const own = ownSignature(openThinking(sealed)?.signature, thinkingFrom);
  return [own ? set(['encrypted_content'], own) : remove([])];
};

const without = (holder: Json, name: string): Edit[] => (name in holder ? [remove([name])] : []);

const itemEdits = (item: Json, context: Context): Edit[] => {
  switch (item.type) {
    case 'reasoning':
      return reasoning(item, context);
    // Of reasoning: any other reference is rejected.
    case 'item_reference':
      return [remove([])];
    // The OpenAI SDK adds what it parsed to the items that its callers send back; strict providers reject it.
    case 'message':
      return insideEach(item, 'content', (part) => without(part, 'parsed'));
    default:
      return [...idEdits(item, 'call_id'), ...without(item, 'parsed_arguments')];
  }
};

/** The router's own sentences are behind all else. */
const input = (context: Context): Edit[] => {
  const { received, fitted } = context;
  const added = instructionItems(fitted);
  if (isRewritten(context) && typeof received.input !== 'string') {
    // Instructions are the first of the turns.
    const turns = resultsFirst(fitted.turns);
    const items = [...encodeInput({ ...fitted, turns }), ...added];
    return [...without(received, 'instructions'), set(['input'], items)];
  }
  if (typeof received.input === 'string') {
    const said = { role: 'user', content: received.input };
    return added.length === 0 ? [] : [set(['input'], [said, ...added])];
  }
  const count = asArray(received.input).length;
  return [
    ...insideEach(received, 'input', (item) => itemEdits(item, context)),
    ...added.map((item, index) => set(['input', count + index], item)),
  ];
};

export const editsOf = createEditsOf('responses', fitTo)(
  store,
  include,
  cap,
  rejected,
  effort,
  tools,
  input,
);
