import { withMarksFor } from '#late/crossing';
import { isEmpty, omitUndefined } from '../../support/objects.ts';
import { withEdits } from '../bytes/edits.ts';
import { asArray, asRecord, type Json } from '../bytes/json.ts';
import { knownFields, rejectedMembers, sessionKey } from '../cache/members.ts';
import {
  createCannotSay,
  encodeMaxTokens,
  encodeUser,
  type Fitted,
  fitBy,
  fitReasoning,
  fitRequest,
  lossesOn,
} from '../fit-request.ts';
import type { GenerationRequest, ResponseFormat, TextInput, Tool } from '../generation.ts';
import { reminderOf } from '../instructions.ts';
import { extraFieldsFor } from '../ledger/extras.ts';
import type { Profile } from '../profile.ts';
import type { WireTarget } from '../protocol.ts';
import { sharedFor } from '../shared-members.ts';
import { fitCustomTools, hasCustomTool } from '../tools/custom.ts';
import { fittingToolName } from '../tools/names.ts';
import { asObjectSchema, fitSchema, isStrictSchema } from '../tools/schemas.ts';
import { encodeInput } from './encode-items.ts';

// --- what the target's model accepts ---

/** The request as the target's model accepts it. The protocol has no stop sequences, and takes an effort next to tools. */
export const fitTo = (original: GenerationRequest, target: WireTarget): Fitted => {
  const hasFunctionsOnly = target.customTools === false || target.items === 'common';
  const fitTools = hasFunctionsOnly ? [fitCustomTools] : [];
  const profile = { ...target, stop: false, effortWithTools: true };
  return fitBy([fitRequest, fitReasoning, ...fitTools], original, profile);
};

// --- canonical -> wire ---

const textInput = ({ description, grammar }: TextInput): Json =>
  omitUndefined({ description, format: grammar && { type: 'grammar', ...grammar } });

/** Tools are strict unless they state that they are not. */
const encodeTool = (tool: Tool): Json => {
  const name = fittingToolName(tool.name);
  if (tool.custom) return { type: 'custom', name, ...textInput(tool.custom) };
  const { description, parameters } = tool;
  const strict = tool.strict === true && isStrictSchema(parameters);
  return omitUndefined({
    ...{ type: 'function', name, description },
    ...{ parameters: asObjectSchema(parameters), strict },
  });
};

const encodeToolChoice = (request: GenerationRequest): unknown => {
  const { toolChoice: choice } = request;
  if (choice === undefined || choice.type === 'none') return choice?.type;
  const named = (name: string): Json => ({
    type: hasCustomTool(request, name) ? 'custom' : 'function',
    name: fittingToolName(name),
  });
  if (choice.type === 'tool') return named(choice.name);
  const { type: mode, only } = choice;
  return only === undefined ? mode : { type: 'allowed_tools', mode, tools: only.map(named) };
};

/** The vendor rejects the others without `tools`. */
const encodeToolFields = (request: GenerationRequest): Json => {
  const tools = (request.tools ?? []).flatMap((tool) =>
    'native' in tool ? [] : [encodeTool(tool)],
  );
  return tools.length === 0
    ? {}
    : {
        tools,
        tool_choice: encodeToolChoice(request),
        parallel_tool_calls: request.parallelToolCalls,
      };
};

/** Strict where the schema allows it, if the caller does not state it. */
const encodeFormat = (format: ResponseFormat | undefined): Json | undefined => {
  if (format?.type !== 'json-schema') return format && { type: 'json_object' };
  const { name = 'output', description, schema, strict = isStrictSchema(schema) } = format;
  return omitUndefined({ type: 'json_schema', name, description, schema, strict });
};

/** What makes the vendor return its reasoning in a form that it reads again, though it stores nothing. */
export const SEALED = 'reasoning.encrypted_content';

/** The vendor's least cap. */
const LEAST_TOKENS = 16;

const encodeCap = (request: GenerationRequest, target: WireTarget): number | undefined => {
  const cap = encodeMaxTokens(request, target);
  return cap === undefined ? undefined : Math.max(cap, LEAST_TOKENS);
};

/** A model without levels of effort does not reason, and is rejected if asked for it. */
export const mayReason = ({ effort }: Profile): boolean =>
  effort === undefined || effort.length > 0;

/**
 * The vendor shows reasoning only to who asks for a summary of it, so it is asked for where the caller's protocol would show
 * thinking; of a model that is not known to reason only next to an effort.
 */
const summaryFor = (
  { reasoning, extras: { protocol, fields } }: GenerationRequest,
  effort: string | undefined,
  { effort: levels = [] }: Profile,
): unknown => {
  if (protocol === 'responses') return asRecord(asRecord(fields.echo)?.reasoning)?.summary;
  const { mode, effort: stated } = reasoning ?? {};
  const isWanted = mode === undefined ? stated !== undefined : mode !== 'disabled';
  const isHidden = asRecord(fields.thinking)?.display === 'omitted';
  const isKnown = effort === undefined ? levels.length > 0 : effort !== 'none';
  return isWanted && !isHidden && isKnown ? 'auto' : undefined;
};

/** The router's own sentences, behind all else. */
export const instructionItems = ({ instructions }: GenerationRequest): Json[] =>
  instructions ? [{ role: 'user', content: reminderOf(instructions.join('\n')) }] : [];

/** @throws ApiError 400 when no part of the conversation has a form in this protocol. */
export const encodeRequest = (original: GenerationRequest, target: WireTarget): Json => {
  const fitted = fitTo(original, target).request;
  const request = withMarksFor(fitted, { to: 'responses', profile: target });
  const { prompt_cache_key, prompt_cache_options, prompt_cache_retention } = knownFields(
    { ...request.chatFields, ...extraFieldsFor('chat', request.extras) },
    target,
  );
  const shared = sharedFor('responses', request);
  const format = encodeFormat(request.responseFormat);
  const { effort } = request.reasoning ?? {};
  const reasoning = omitUndefined({ effort, summary: summaryFor(original, effort, target) });
  const wire = omitUndefined({
    model: target.model,
    input: [...encodeInput(request, target), ...instructionItems(request)],
    stream: request.stream,
    store: false,
    include: mayReason(target) ? [SEALED] : undefined,
    max_output_tokens: encodeCap(request, target),
    temperature: request.temperature,
    top_p: request.topP,
    ...encodeToolFields(request),
    reasoning: isEmpty(reasoning) ? undefined : reasoning,
    user: encodeUser(request),
    ...shared,
    ...(format && { text: { format, ...asRecord(shared.text) } }),
    ...{ prompt_cache_options, prompt_cache_retention },
    prompt_cache_key: prompt_cache_key ?? sessionKey(request, target),
  });
  return withEdits(wire, rejectedMembers(wire, target));
};

export const losses = (request: GenerationRequest, target: WireTarget, received: unknown) => {
  const isCommon = target.items === 'common';
  const isSame = request.extras.protocol === 'responses' && !isCommon;
  const { store, input } = (isSame ? received : {}) as Json;
  return [
    ...fitTo(request, target).dropped,
    // The common items carry what chat does.
    ...lossesOn(isCommon ? 'chat' : 'responses', request, received, {
      strict: (schema) => isStrictSchema(fitSchema(schema, target)),
      thinking: ({ text, signature, extras }) =>
        Boolean(signature ?? ((isSame && extras) || (isCommon && text))),
      profile: target,
    }),
    // The vendor stores a response unless the request rejects it.
    ...(isSame && target.store !== true && store !== false ? ['store'] : []),
    ...asArray(input).flatMap((item) =>
      asRecord(item)?.type === 'item_reference' ? ['input[item_reference]'] : [],
    ),
  ];
};

export const cannotSay = createCannotSay('responses');
