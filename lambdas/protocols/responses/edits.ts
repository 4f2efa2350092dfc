import { insideEach, removeMember, setMembers } from '../bytes/edits.ts';
import { asArray, asRecord, asString, type Json } from '../bytes/json.ts';
import { type Edit, remove, set } from '../bytes/splice.ts';
import type { Block } from '../generation.ts';
import type { WireTarget } from '../protocol.ts';
import { type Context, createEditsOf, idEdits } from '../request-edits.ts';
import { ownSignature } from '../thinking/origin.ts';
import { openThinking } from '../thinking/sealed.ts';
import { fitSchema } from '../tools/schemas.ts';
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

const tools = ({ received, request, fitted, target }: Context): Edit[] => [
  ...(target.schemaWithout ? toolEdits(received, target) : []),
  // A choice that must not force a tool is asked for in words.
  ...(fitted.toolChoice === request.toolChoice
    ? []
    : [set(['tool_choice', ...(fitted.toolChoice ? ['mode'] : [])], 'auto')]),
];

// --- the conversation ---

/** Reasoning is valid only at its origin, in the form in which it was issued there. */
const reasoning = (item: Json, { request: { thinkingFrom } }: Context): Edit[] => {
  const sealed = asString(item.encrypted_content);
  if (sealed === undefined) return asArray(item.content).length > 0 ? [] : [remove([])];
  const own = ownSignature(openThinking(sealed)?.signature, thinkingFrom);
  return [own ? set(['encrypted_content'], own) : remove([])];
};

const itemEdits = (item: Json, context: Context): Edit[] => {
  switch (item.type) {
    case 'reasoning':
      return reasoning(item, context);
    // Of reasoning: any other reference is rejected.
    case 'item_reference':
      return [remove([])];
    // The OpenAI SDK adds what it parsed to the items that its callers send back; strict providers reject it.
    case 'message':
      return insideEach(item, 'content', (part) => removeMember(part, 'parsed'));
    default:
      return [...idEdits(item, 'call_id'), ...removeMember(item, 'parsed_arguments')];
  }
};

/** The router's own sentences are behind all else. */
const input = (context: Context): Edit[] => {
  const { received, fitted } = context;
  const added = instructionItems(fitted);
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

const ownEditsOf = createEditsOf('responses', fitTo)(
  store,
  include,
  cap,
  rejected,
  effort,
  tools,
  input,
);

const isNative = ({ type }: Block): boolean => type === 'native';

/**
 * None for a provider that knows the common items only, which gets the conversation as of another protocol. One that was
 * compacted, or holds an item of a type to come, has no other form.
 */
export const editsOf: typeof ownEditsOf = (request, target, received) =>
  target.items === 'common' && !request.turns.some(({ blocks }) => blocks.some(isNative))
    ? undefined
    : ownEditsOf(request, target, received);
