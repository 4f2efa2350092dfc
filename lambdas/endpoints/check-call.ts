import { hash } from 'node:crypto';
import { assertChosenHere } from '#late/media';
import { assertCapable, assertFits, targetsFor } from '../catalog/capabilities.ts';
import { type Catalog, type Model, requireWithin, type Target } from '../catalog/catalog.ts';
import {
  countingOf,
  countPrompt,
  estimateInputTokens,
  leastInputTokens,
} from '../catalog/estimate-tokens.ts';
import { partsOf, type RequestParts } from '../catalog/request-parts.ts';
import type { GenerationRequest, Turn } from '../protocols/generation.ts';
import { spokenText } from '../protocols/instructions.ts';
import { assertConsistent } from '../protocols/ledger/assert-consistent.ts';
import { type CallerHeaders, type HeaderMap, wireTargetOf } from '../protocols/protocol.ts';
import { upstreamProtocols } from '../protocols/protocols.ts';
import { latestOrigin, originOf } from '../protocols/thinking/origin.ts';
import type { Calibrations } from '../routing/calibrations.ts';
import { type Ordered, orderTargets } from '../routing/order-targets.ts';
import type { Prefer, Preferred } from '../routing/preference.ts';
import type { Choice } from '../stores/record-store.ts';
import { invalidRequest } from '../support/errors.ts';
import { once } from '../support/memo.ts';
import type { Call } from './endpoint.ts';
import { type Attribution, attributionOf, sessionNamed } from './who.ts';

/** What is counted of a request: it is read for a target when its count is first needed. */
type Prompt = {
  readonly request: GenerationRequest;
  readonly targets: Target[];
  readonly calibrations: Pick<Calibrations, 'framingOf'>;
  parts: RequestParts | undefined;
  counts: Map<Target, number[]> | undefined;
};

const partsIn = (prompt: Prompt): RequestParts => {
  prompt.parts ??= partsOf(prompt.request);
  return prompt.parts;
};

const countsIn = (prompt: Prompt, target: Target): number[] => {
  prompt.counts ??= new Map();
  const counts = prompt.counts.get(target) ?? countPrompt(partsIn(prompt), countingOf(target));
  prompt.counts.set(target, counts);
  return counts;
};

/** Estimates the input as the target counts it, by default the first one. */
export const estimateOn = (prompt: Prompt, target = prompt.targets[0]): number => {
  if (!target) return 0;
  const counting = { ...countingOf(target), calibrated: prompt.calibrations.framingOf(target) };
  return estimateInputTokens(partsIn(prompt), counting, countsIn(prompt, target));
};

/** What the target's framing counts; undefined if the prompt has media, which no framing counts. */
export const countsOn = (prompt: Prompt, target: Target): number[] | undefined => {
  const { images, mediaTokens } = partsIn(prompt);
  return images.length > 0 || mediaTokens > 0 ? undefined : countsIn(prompt, target);
};

/**
 * The tokens it has at least at the target that counts least. Pages of documents are none: one is 258 tokens at one vendor and
 * 2,300 at another, so the provider decides on those.
 */
const leastOn = (prompt: Prompt): number =>
  Math.min(...prompt.targets.map(({ model }) => leastInputTokens(partsIn(prompt), model)));

type Sent = { call: Pick<Call, 'body' | 'source'>; request: GenerationRequest; model: Model };

/** The paths of what a target does not get, or gets with another meaning. */
const droppedOn = ({ call, request, model }: Sent, target: Target): string[] => {
  const { losses } = upstreamProtocols[target.protocol];
  const wireTarget = wireTargetOf(target, model.max_output_tokens);
  const sent = { ...request, thinkingFrom: originOf(target) };
  return [...new Set([...(call.source.removed ?? []), ...losses(sent, wireTarget, call.body)])];
};

/** Keeps the header, and an error's text, short. */
const MAX_PATHS = 20;

const listOf = (paths: string[]): string =>
  [
    ...paths.slice(0, MAX_PATHS),
    ...(paths.length > MAX_PATHS ? [`+${paths.length - MAX_PATHS}`] : []),
  ].join(', ');

/** Lists what `target` did not get, and headers that are in no record, so that no caller has to guess. */
export const droppedHeader = (
  sent: Sent & { attribution: Attribution },
  target: Target | undefined,
): HeaderMap => {
  const unsent = target ? droppedOn(sent, target) : [];
  const { dropped } = sent.attribution;
  const paths = dropped.length === 0 ? unsent : [...unsent, ...dropped];
  return paths.length === 0 ? {} : { 'x-router-dropped': listOf(paths) };
};

/** The 400 of a strict request that a target does not get whole; undefined if it does, or if drops are allowed. */
export const strictError = (sent: Sent & { isStrict: boolean }, target: Target) => {
  const dropped = sent.isStrict ? droppedOn(sent, target) : [];
  const [param] = dropped;
  if (param === undefined) return undefined;
  const problem = `no provider of the model '${sent.model.id}' accepts ${listOf(dropped)}.`;
  return invalidRequest(`x-router-strict: ${problem}`, { param });
};

/**
 * The targets that get the whole request, if it is strict.
 * @throws ApiError 400 that lists what the best of the others would not get
 */
const targetsAllowed = (sent: Sent & { isStrict: boolean }, targets: Target[]): Target[] => {
  if (!sent.isStrict) return targets;
  const candidates = targets.map((target) => ({ target, dropped: droppedOn(sent, target) }));
  const exact = candidates.filter(({ dropped }) => dropped.length === 0);
  const [least] = candidates.toSorted((one, other) => one.dropped.length - other.dropped.length);
  const error = exact.length === 0 && least && strictError(sent, least.target);
  if (error) throw error;
  return exact.map(({ target }) => target);
};

/** Of a longer text the ends and the length tell sessions apart, in a microsecond. */
const SAMPLE = 2_048;

const sampleOf = (text: string): string =>
  text.length <= 2 * SAMPLE
    ? text
    : `${text.length} ${text.slice(0, SAMPLE)} ${text.slice(-SAMPLE)}`;

const textsOf = (turn: Turn | undefined): string[] =>
  turn?.blocks.flatMap((block) =>
    block.type === 'text' ? sampleOf(spokenText(block.text) ?? '') : [],
  ) ?? [];

/** What stays the same in each request of a conversation: its first system turn and its first turn of the user. */
const openingOf = ({ turns }: Pick<GenerationRequest, 'turns'>): string[] => [
  ...textsOf(turns.find(({ role }) => role === 'system')),
  ...textsOf(turns.find(({ role }) => role === 'user')),
];

/** Characters of a session's id, and of its secret. */
const ID = 32;

/** A session among those of all keys: its id, and a secret that is stored nowhere and does not follow from the id. */
export type Session = { id: string; secret: string };

/**
 * Both parts hold the key's id, so that no key meets the session of another, and the key itself, which is stored nowhere: what a
 * client names its session is in its record.
 */
export const sessionIdOf = (
  { keyId, headers }: { keyId: string; headers: CallerHeaders },
  request: Pick<GenerationRequest, 'turns'>,
  named: string | undefined,
): Session => {
  const keys = [headers.authorization, headers['x-api-key'], headers['api-key']];
  const texts = [keyId, ...keys, ...(named ? [named] : openingOf(request))];
  const digest = hash('sha256', JSON.stringify(texts));
  return { id: digest.slice(0, ID), secret: digest.slice(ID) };
};

/** A valid call: its decoded request, its model and the targets that may serve it. */
export type CheckedCall = {
  call: Call;
  request: GenerationRequest;
  /** Its session among those of all keys; hashed when somebody asks. */
  session(): Session;
  /** For whom it is. */
  attribution: Attribution;
  model: Model;
  /** The one that the caller names: another model once it is retired. */
  asked: Model;
  /** The model's targets that can carry the whole request, in the order of its session. */
  targets: Target[];
  /** Why the first of them is the first. */
  choice: Choice;
  preferred: Preferred | undefined;
  /** `x-router-strict: 1`: what would be dropped is a 400. */
  isStrict: boolean;
  prompt: Prompt;
  /** The instant of the unit's reservation, in ms: of an earlier attempt too, whose unit is used again. */
  reservedAt?: number;
};

export type CheckDeps = {
  catalog: Catalog;
  calibrations: Calibrations;
  /** @default models without a preference */
  prefer?: Prefer | undefined;
};

/** The decoded request, with its session, and what may be added for caches. @throws ApiError 400 */
const decode = ({ protocol, body, headers, caller }: Call) => {
  const request = protocol.decodeRequest(body, headers);
  assertConsistent(request);
  const named = sessionNamed(headers, body);
  const session = once(() => sessionIdOf({ keyId: caller.keyId, headers }, request, named));
  const added: Partial<GenerationRequest> | undefined =
    headers['x-router-cache'] === 'off'
      ? { isUnmarked: true }
      : named
        ? { cacheKey: session().id }
        : undefined;
  const attribution = attributionOf(headers, body, { projectId: caller.projectId, named });
  return { request: added ? { ...request, ...added } : request, session, attribution };
};

const isOnlyByPolicy = (model: Model, inside: Target[], targets: Target[]): boolean =>
  targets.length === 1 && inside.length === 1 && model.targets.length > 1;

/** Members that may name an address begin so. */
const ADDRESS = /^(?:api|base|user)_/;

/** Whether its members are to be read for those that choose another model, provider or address: for few, so that it is late. */
const mayChoose = ({ body, caller: { plan } }: Call): boolean =>
  Boolean(plan.models ?? plan.require) ||
  Object.keys(Object(body)).some((name) => ADDRESS.test(name));

/** Runs every check that is free of quota. @throws ApiError 400, 404 */
export const checkCall = (
  { catalog, calibrations, prefer }: CheckDeps,
  call: Call,
): CheckedCall => {
  const { request, session, attribution } = decode(call);
  const { asked, model } = catalog.require(request.model, call.caller.plan, call.startedAt);
  call.note({ model: model.id, stream: request.stream });
  if (mayChoose(call)) assertChosenHere(call.body, call.caller.plan);
  assertCapable(model, request);
  const isStrict = /^(?:1|true)$/i.test(call.header('x-router-strict') ?? '');
  const targetsInside = requireWithin(model, call.caller.plan.require, asked);
  const able = targetsAllowed(
    { call, request, model, isStrict },
    targetsFor({ id: model.id, targets: targetsInside }, request),
  );
  const preferred = model.prefer && prefer?.(model, session().id);
  const { targets, choice }: Ordered =
    able.length === 1
      ? { targets: able, choice: 'only' }
      : orderTargets(able, {
          session: () => session().id,
          origin: () => latestOrigin(request),
          preferred,
        });
  const prompt: Prompt = { request, targets, calibrations, parts: undefined, counts: undefined };
  assertFits(model, request, {
    bodyBytes: call.source.bytes,
    parts: () => partsIn(prompt),
    least: () => leastOn(prompt),
    estimate: () => estimateOn(prompt),
  });
  return {
    ...{ call, request, session, attribution, model, asked, targets, isStrict, prompt },
    ...{ preferred, choice: isOnlyByPolicy(model, targetsInside, targets) ? 'require' : choice },
  };
};

/** Tokens that a response may have at most, over all its choices. */
export const mostTokens = ({ request, model }: CheckedCall): number =>
  Math.min(request.maxTokens ?? model.max_output_tokens, model.max_output_tokens) *
  (request.choices ?? 1);
