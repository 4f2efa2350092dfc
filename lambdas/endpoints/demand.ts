import { pricesOf, type Target } from '../catalog/catalog.ts';
import { type Demand, type Rates, ratesOf } from '../money/lease.ts';
import { asArray, asRecord } from '../protocols/bytes/json.ts';
import type { Block, GenerationRequest } from '../protocols/generation.ts';
import { textAt } from '../support/bytes.ts';
import { DO_NOT_RETRY, invalidRequest } from '../support/errors.ts';
import { type CheckedCall, estimateOn } from './check-call.ts';

/** Uses of a tool that the upstream runs, if the request does not bound them. */
const USES = 10;
/** Tools that upstreams run and bill by use. */
const BILLED =
  /^(?:openrouter:)?(web_search|code_execution|advisor|code_interpreter|file_search|image_generation)/;
/** Members of a request that have the same billed, with most uses. */
const MEMBERS: [member: string, use: string, most: number][] = [
  ['web_search_options', 'web_search', USES],
  ['fallbacks', 'fallback', 1],
];

/** Members are sent to targets of the caller's protocol only. */
const usesIn = ({ tools = [], extras }: GenerationRequest, target: Target) => {
  const uses: Record<string, number> = {};
  const add = (name: string, most: number) => {
    uses[name] = (uses[name] ?? 0) + most;
  };
  for (const tool of tools) {
    if (!('native' in tool)) continue;
    const [, name] = BILLED.exec(String(tool.value.type)) ?? [];
    if (name !== undefined) add(name, Number(tool.value.max_uses) || USES);
  }
  if (extras.protocol === target.protocol) {
    for (const [member, name, most] of MEMBERS) if (extras.fields[member]) add(name, most);
  }
  return uses;
};

const hasBlock = ({ turns }: GenerationRequest, is: (block: Block) => boolean): boolean =>
  turns.some(({ blocks }) => blocks.some(is));
const isAudio = (block: Block): boolean =>
  block.type === 'native' && asRecord(block.value)?.type === 'input_audio';

const kindsIn = (request: GenerationRequest): Demand['kinds'] => {
  const kinds: Demand['kinds'] = hasBlock(request, isAudio) ? ['input_audio'] : [];
  const isSpoken = asArray(request.extras.fields.modalities).includes('audio');
  return isSpoken ? [...kinds, 'output_audio'] : kinds;
};

/** A lifetime of an hour or more, wherever a request states one. */
const LONG_LIFETIME = /"(?:ttl|prompt_cache_retention)"\s*:\s*"(?:1h|12h|24h)"/;

const demandOf = (
  { request, prompt }: CheckedCall,
  target: Target,
  writesLong: boolean,
): Demand => {
  const { service_tier, speed, inference_geo } = request.extras.fields;
  const text = (value: unknown) => (typeof value === 'string' ? value : undefined);
  return {
    tokens: estimateOn(prompt, target),
    writesLong: writesLong || target.profile?.cacheMarks === '1h',
    kinds: kindsIn(request),
    hasImages: hasBlock(request, ({ type }) => type === 'image'),
    uses: usesIn(request, target),
    services: [text(service_tier), text(speed)].flatMap((value) => value ?? []),
    geo: text(inference_geo),
  };
};

/** 400: a budget cannot promise what it cannot compute. */
const unpricedError = (model: string, names: string[]) =>
  invalidRequest(
    `The request is under a budget, and '${model}' has no price for ${[...new Set(names)].join(', ')}.`,
    { code: 'budget_unpriced', details: { error_code: 'budget_unpriced' }, headers: DO_NOT_RETRY },
  );

/** The rates of the targets that have a price for all. @throws ApiError 400 if none has */
export const ratesByTarget = (checked: CheckedCall): Map<Target, Rates> => {
  const { call, model, targets } = checked;
  const rates = new Map<Target, Rates>();
  const names: string[] = [];
  const writesLong = LONG_LIFETIME.test(textAt(call.source.raw, 0));
  for (const target of targets) {
    const demand = demandOf(checked, target, writesLong);
    const found = ratesOf(demand, pricesOf(model, target), call.startedAt);
    if ('unpriced' in found) names.push(...found.unpriced);
    else rates.set(target, found);
  }
  if (rates.size === 0 && names.length > 0) throw unpricedError(model.id, names);
  return rates;
};
