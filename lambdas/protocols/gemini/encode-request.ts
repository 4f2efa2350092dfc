import { lossesBeyond } from '#late/crossing';
import { omitUndefined } from '../../support/objects.ts';
import { asArray, asRecord, type Json } from '../bytes/json.ts';
import {
  createCannotSay,
  encodeMaxTokens,
  type Fitted,
  fitBy,
  fitReasoning,
  fitRequest,
} from '../fit-request.ts';
import type { GenerationRequest, Tool, ToolChoice } from '../generation.ts';
import { reminderOf } from '../instructions.ts';
import { budgetOfEffort, type Profile } from '../profile.ts';
import type { WireTarget } from '../protocol.ts';
import { sharedFor } from '../shared-members.ts';
import { fitCustomTools } from '../tools/custom.ts';
import { fittingToolName } from '../tools/names.ts';
import { fitSchema } from '../tools/schemas.ts';
import { audioIn, encodeContents } from './encode-contents.ts';

/** The vendor's levels, which older models do not have. */
const LEVELS = ['minimal', 'low', 'medium', 'high'];

/** Whether the model thinks by a budget of tokens, as older ones do. */
const hasBudget = ({ thinking }: Profile): boolean => thinking?.includes('enabled') === true;

/** The request as the target's model accepts it; the protocol has neither custom tools nor a switch for parallel calls. */
const fitTo = (original: GenerationRequest, target: WireTarget): Fitted => {
  const profile = {
    ...{ effort: LEVELS, ...target },
    ...{ parallelTools: false, effortWithTools: true },
  };
  const fitEffort = hasBudget(target) ? [] : [fitReasoning];
  return fitBy([fitRequest, ...fitEffort, fitCustomTools], original, profile);
};

// --- members ---

const encodeTools = ({ tools = [] }: GenerationRequest): Json[] =>
  tools.flatMap((tool) => {
    if ('native' in tool) return [];
    const { name, description, parameters }: Tool = tool;
    const declared = { name: fittingToolName(name), description, parametersJsonSchema: parameters };
    return [omitUndefined(declared)];
  });

const MODES = { auto: 'AUTO', none: 'NONE', required: 'ANY', tool: 'ANY' };

const encodeChoice = (choice: ToolChoice | undefined): Json | undefined => {
  if (choice === undefined) return undefined;
  const only = choice.type === 'tool' ? [choice.name] : 'only' in choice ? choice.only : undefined;
  // Without a call that is forced, the choice among some of the tools has a separate mode.
  const mode = choice.type === 'auto' && only ? 'VALIDATED' : MODES[choice.type];
  const allowedFunctionNames = only?.map(fittingToolName);
  return { functionCallingConfig: omitUndefined({ mode, allowedFunctionNames }) };
};

/** Thoughts are shown, as thinking is everywhere. */
const encodeThinking = ({ reasoning }: GenerationRequest, target: WireTarget): Json | undefined => {
  if (target.effort?.length === 0) return undefined;
  const { effort, mode, budgetTokens } = reasoning ?? {};
  if (!hasBudget(target)) {
    return omitUndefined({ includeThoughts: true, thinkingLevel: effort?.toUpperCase() });
  }
  const isOff = mode === 'disabled' || effort === 'none';
  const wanted = budgetTokens ?? (effort === undefined ? undefined : budgetOfEffort(effort));
  return omitUndefined({ includeThoughts: !isOff, thinkingBudget: isOff ? 0 : wanted });
};

const encodeFormat = ({ responseFormat: format }: GenerationRequest, target: WireTarget): Json => {
  if (format === undefined) return {};
  const mime = { responseMimeType: 'application/json' };
  if (format.type === 'json') return mime;
  const { description, schema } = format;
  const described = description === undefined ? schema : { description, ...schema };
  return { ...mime, responseJsonSchema: fitSchema(described, target) };
};

/** The router's own sentences are the last part of the user's turn. */
const withInstructions = (contents: Json[], { instructions }: GenerationRequest): Json[] => {
  if (!instructions) return contents;
  const part = { text: reminderOf(instructions.join('\n')) };
  const last = contents.at(-1);
  return last?.role === 'user'
    ? contents.with(-1, { ...last, parts: [...asArray(last.parts), part] })
    : [...contents, { role: 'user', parts: [part] }];
};

/** @throws ApiError 400 when no part of the conversation has a form in this protocol. */
export const encodeRequest = (original: GenerationRequest, target: WireTarget): Json => {
  const { request } = fitTo(original, target);
  const { contents, systemInstruction } = encodeContents(request, target);
  const declared = encodeTools(request);
  const shared = sharedFor('gemini', request);
  return omitUndefined({
    systemInstruction,
    contents: withInstructions(contents, request),
    tools: declared.length > 0 ? [{ functionDeclarations: declared }] : undefined,
    toolConfig: declared.length > 0 ? encodeChoice(request.toolChoice) : undefined,
    ...shared,
    generationConfig: omitUndefined({
      temperature: request.temperature,
      topP: request.topP,
      topK: request.topK,
      maxOutputTokens: encodeMaxTokens(request, target),
      stopSequences: request.stop,
      ...asRecord(shared.generationConfig),
      ...encodeFormat(request, target),
      thinkingConfig: encodeThinking(request, target),
    }),
  });
};

// --- what has no form ---

export const losses = (request: GenerationRequest, target: WireTarget, received: unknown) => [
  ...fitTo(request, target).dropped,
  ...lossesBeyond('gemini', request, received, {
    strict: () => false,
    thinking: ({ signature }) => Boolean(signature),
    profile: {},
  }),
];

/** The vendor's limit. */
const MAX_STOPS = 5;

export const cannotSay = createCannotSay('gemini', {
  maxStops: MAX_STOPS,
  takes: (block) => audioIn(block) !== undefined,
});
