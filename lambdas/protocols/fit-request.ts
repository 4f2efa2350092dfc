import { isDefault, lossesBeyond, lostThinking } from '#late/crossing';
import { mapOnce } from '../support/memo.ts';
import { omitUndefined } from '../support/objects.ts';
import type { Json } from './bytes/json.ts';
import { cacheLosses } from './cache/members.ts';
import type { Block, DocumentBlock, GenerationRequest, Turn } from './generation.ts';
import { instruct } from './instructions.ts';
import { essentialBeyond, partsBeyond, without } from './ledger/extras.ts';
import { PATHS, plain } from './ledger/paths.ts';
import { mediaIn } from './media.ts';
import {
  effortOfBudget,
  fitEffort,
  type Profile,
  SAMPLING_FIELDS,
  type SamplingField,
} from './profile.ts';
import type { WireTarget } from './protocol.ts';
import type { UpstreamProtocolName } from './protocol-name.ts';
import { sharedLosses } from './shared-members.ts';
import { fitSchema } from './tools/schemas.ts';

/** A request that fits a target, and the caller's fields whose meaning it lost on the way. */
export type Fitted = { request: GenerationRequest; dropped: string[] };

/** One step after the other. */
export const fitBy = <Target>(
  steps: ((request: GenerationRequest, target: Target) => Fitted)[],
  original: GenerationRequest,
  target: Target,
): Fitted => {
  let request = original;
  const dropped: string[] = [];
  for (const step of steps) {
    const fitted = step(request, target);
    request = fitted.request;
    dropped.push(...fitted.dropped);
  }
  return { request, dropped };
};

// --- sampling ---

/** The wire fields of chat behind each sampling field that is not canonical. */
const CHAT_FIELDS: Partial<Record<SamplingField, string[]>> = {
  penalties: ['frequency_penalty', 'presence_penalty'],
  logit_bias: ['logit_bias'],
  logprobs: ['logprobs', 'top_logprobs'],
};

/** Whether the request asks the model to think. */
export const thinksAt = ({ reasoning }: GenerationRequest): boolean => {
  const { effort, mode } = reasoning ?? {};
  return mode === undefined
    ? effort !== undefined && effort !== 'none'
    : mode === 'enabled' || mode === 'adaptive';
};

const acceptedFields = (
  request: GenerationRequest,
  { sampling, samplingWithEffort, temperatureWithTopP }: Profile,
): readonly SamplingField[] | undefined => {
  if (samplingWithEffort === false && thinksAt(request)) return [];
  const { temperature, topP } = request;
  if (temperatureWithTopP !== false || temperature === undefined || topP === undefined) {
    return sampling;
  }
  const accepted = sampling ?? SAMPLING_FIELDS;
  return accepted.includes('temperature') ? accepted.filter((name) => name !== 'top_p') : accepted;
};

/** Removes the sampling fields that the model rejects; one that states the default is not a loss. */
const fitSampling = (request: GenerationRequest, profile: Profile): Fitted => {
  const accepted = acceptedFields(request, profile);
  if (accepted === undefined) return { request, dropped: [] };
  const { temperature, topP, topK, extras } = request;
  const keep = <Value>(name: SamplingField, value: Value): Value | undefined =>
    accepted.includes(name) ? value : undefined;
  const removed = SAMPLING_FIELDS.flatMap((name) =>
    accepted.includes(name) ? [] : (CHAT_FIELDS[name] ?? [name]),
  );
  const values: Json = { temperature, top_p: topP, top_k: topK, ...extras.fields };
  return {
    request: omitUndefined({
      ...request,
      temperature: keep('temperature', temperature),
      topP: keep('top_p', topP),
      topK: keep('top_k', topK),
      extras: { ...extras, fields: without(extras.fields, removed) },
    }),
    dropped: removed.filter((name) => !isDefault(extras, name, values[name])),
  };
};

/**
 * Leaves out what the model's provider rejects; `true` of parallel calls is what it does without, and a response is
 * ended at a stop sequence by the router (endpoints/stop-sequences.ts).
 */
const fitSwitches = (request: GenerationRequest, profile: Profile): Fitted => {
  const { stop, parallelToolCalls, extras } = request;
  const keepsStop = profile.stop !== false;
  const keepsParallel = profile.parallelTools !== false;
  if (keepsStop && keepsParallel) return { request, dropped: [] };
  const paths = PATHS[extras.protocol];
  return {
    request: omitUndefined({
      ...request,
      stop: keepsStop ? stop : undefined,
      parallelToolCalls: keepsParallel ? parallelToolCalls : undefined,
    }),
    dropped: keepsParallel || parallelToolCalls !== false ? [] : [paths.parallel],
  };
};

// --- effort, length and user, as chat and protocols like it state them ---

/** How the caller named what is fitted here. */
const pathOf = ({ extras: { protocol }, reasoning }: GenerationRequest): string =>
  PATHS[protocol][reasoning?.effort === undefined ? 'thinking' : 'effort'];

/** The effort that the request asks for; a budget asks for the nearest one. */
const wantedEffort = ({ reasoning }: GenerationRequest, levels: readonly string[] | undefined) => {
  const { mode, effort, budgetTokens } = reasoning ?? {};
  // Upstreams have different values for "off", and reject the others' values.
  if (mode === 'disabled') return levels?.includes('none') ? 'none' : undefined;
  if (effort !== undefined || mode !== 'enabled' || budgetTokens === undefined) return effort;
  return effortOfBudget(budgetTokens);
};

const offersFunctions = ({ tools = [] }: GenerationRequest): boolean =>
  tools.some((tool) => !('native' in tool));

/** Next to functions, models that think by default need the level `none`. */
const withoutEffort = ({ effort: levels = ['none'] }: Profile): string | undefined =>
  levels.includes('none') ? 'none' : undefined;

/** Spells the effort as the target's model accepts it: a level that it has, or none. */
export const fitReasoning = (request: GenerationRequest, profile: Profile): Fitted => {
  const isExcluded = profile.effortWithTools === false && offersFunctions(request);
  if (request.reasoning === undefined && !isExcluded) return { request, dropped: [] };
  const wanted = wantedEffort(request, profile.effort);
  const effort = isExcluded ? withoutEffort(profile) : wanted && fitEffort(wanted, profile.effort);
  // Without the field, a model without levels does not think.
  const isOff = wanted === 'none' && profile.effort?.length === 0;
  // An effort means nothing next to thinking that is off.
  const isOverruled =
    request.reasoning?.mode === 'disabled' && request.reasoning.effort !== undefined;
  const isSaid = (wanted === undefined || effort === wanted || isOff) && !isOverruled;
  const { reasoning: _, ...rest } = request;
  return {
    request: effort === undefined ? rest : { ...rest, reasoning: { effort } },
    dropped: isSaid ? [] : [pathOf(request)],
  };
};

/** The vendor's limit on end-user ids. Longer ones are agents' telemetry for another vendor. */
const MAX_USER_LENGTH = 64;

export const encodeUser = ({ user }: GenerationRequest): string | undefined =>
  user !== undefined && user.length <= MAX_USER_LENGTH ? user : undefined;

/** At least 1, the protocol's minimum, and at most the model's maximum. */
export const encodeMaxTokens = (
  { maxTokens }: GenerationRequest,
  { maxOutputTokens }: WireTarget,
) => (maxTokens === undefined ? undefined : Math.max(1, Math.min(maxTokens, maxOutputTokens)));

// --- tools ---

const instructionFor = (name: string | undefined): string =>
  name === undefined
    ? 'Call at least one of the tools before you reply.'
    : `Call the tool '${name}' before you reply.`;

/** Asks in words for a tool that the choice must not force; without a choice a model may call any. */
const fitToolChoice = (request: GenerationRequest, { forcedTool }: Profile): Fitted => {
  const { toolChoice: choice } = request;
  const isForced = choice?.type === 'required' || choice?.type === 'tool';
  if (forcedTool !== false || !isForced) return { request, dropped: [] };
  const { toolChoice: _, ...rest } = request;
  const text = instructionFor(choice.type === 'tool' ? choice.name : undefined);
  const only = choice.type === 'required' ? choice.only : undefined;
  return {
    request: instruct(only ? { ...rest, toolChoice: { type: 'auto', only } } : rest, text),
    dropped: ['tool_choice'],
  };
};

/** Those that a model answers without, too, and a validator does not read. */
const ANNOTATIONS = ['$schema', '$id', '$comment', 'title', 'default', 'examples', 'deprecated'];

const fitSchemas = (request: GenerationRequest, profile: Profile): Fitted => {
  if (profile.schemaWithout === undefined || request.tools === undefined) {
    return { request, dropped: [] };
  }
  const removed = new Set<string>();
  const tools = request.tools.map((tool) =>
    'native' in tool ? tool : { ...tool, parameters: fitSchema(tool.parameters, profile, removed) },
  );
  const path = PATHS[request.extras.protocol].schema;
  return {
    request: { ...request, tools },
    dropped: [...removed]
      .filter((name) => !ANNOTATIONS.includes(name))
      .map((name) => `${path}.${plain(name)}`),
  };
};

// --- what no other form replaces ---

/** Names of the parts of a request that the model rejects, as an error lists them. */
const partsRefused = (
  { turns, tools = [] }: GenerationRequest,
  { media, maxTools, prefill }: Profile,
): string[] => {
  const sent = media === undefined ? [] : turns.flatMap(({ blocks }) => mediaIn(blocks));
  const isPrefilled = turns.at(-1)?.role === 'assistant';
  return [
    ...new Set(sent.filter((medium) => !media?.includes(medium))),
    ...(maxTools !== undefined && tools.length > maxTools ? [`more than ${maxTools} tools`] : []),
    ...(prefill === false && isPrefilled ? ['a last turn of the assistant'] : []),
  ];
};

/** What a protocol cannot carry, apart from what is another protocol's. */
type Unsaid = {
  /** Most stop sequences. */
  maxStops?: number;
  /** Names a document that it has no form for. */
  documentName?(document: DocumentBlock): string | undefined;
  /** Whether it has a form for a native block of another protocol. */
  takes?(block: Block): boolean;
  others?(request: GenerationRequest): string[];
};

/** `cannotSay` of a protocol of targets. */
export const createCannotSay =
  (protocol: UpstreamProtocolName, { maxStops, documentName, takes, others }: Unsaid = {}) =>
  (request: GenerationRequest, profile: Profile = {}): string[] => [
    ...partsBeyond(protocol, request, { documentName, takes }),
    ...essentialBeyond(protocol, request.extras),
    ...(request.choices !== undefined && request.extras.protocol !== protocol ? ['n above 1'] : []),
    ...partsRefused(request, profile),
    ...(maxStops !== undefined && (request.stop ?? []).length > maxStops
      ? [`more than ${maxStops} stop sequences`]
      : []),
    ...(others?.(request) ?? []),
  ];

const areThinking = mapOnce(({ blocks }: Turn) => blocks.some(({ type }) => type === 'thinking'));

/** What a request loses on a target of `protocol`; of the same protocol only thinking, and what is stated about caches, in `turns` too. */
export const lossesOn = (
  protocol: UpstreamProtocolName,
  request: GenerationRequest,
  received: unknown,
  forms: Parameters<typeof lossesBeyond>[3],
  turns?: Turn[],
): string[] =>
  request.extras.protocol === protocol
    ? [
        ...cacheLosses(received, forms.profile, turns),
        ...(areThinking(request.turns).includes(true) ? lostThinking(request, forms) : []),
      ]
    : [
        ...lossesBeyond(protocol, request, received, forms),
        ...sharedLosses(protocol, request, forms.profile.hintsWithout),
      ];

// --- all ---

/** The steps that are the same for every protocol; thinking and effort are fitted by each. */
export const fitRequest = (original: GenerationRequest, profile: Profile): Fitted =>
  fitBy([fitSampling, fitSwitches, fitToolChoice, fitSchemas], original, profile);
