import * as z from 'zod';
import type { Model } from '../../lambdas/catalog/catalog.ts';
import type { Env } from './environment.ts';
import { type Facts, knownOf, unquoted } from './facts.ts';
import { ID, type Imported, type Note, onePlan } from './imported.ts';
import { priced } from './litellm-targets.ts';
import { errorAt, parseList, type Source } from './read-source.ts';

/** Dollars a token; below 0 where it depends on the request. */
const Price = z.preprocess(unquoted, z.number().nullish()).optional();
/** 0 where the list has none. */
const Size = z.number().nonnegative().nullish();
const Words = z.array(z.string()).nullish();

/** Kinds that the prices of a target have, too. */
const Pricing = z.looseObject({
  prompt: Price,
  completion: Price,
  input_cache_read: Price,
  input_cache_write: Price,
  input_cache_write_1h: Price,
});

const Listed = z.looseObject({
  id: z.string().min(1),
  name: z.string().nullish(),
  created: z.number().nullish(),
  context_length: Size,
  architecture: z.looseObject({ input_modalities: Words, output_modalities: Words }).nullish(),
  pricing: Pricing.nullish(),
  top_provider: z.looseObject({ max_completion_tokens: Size }).nullish(),
  supported_parameters: Words,
});
type Listed = z.infer<typeof Listed>;

/** The answer of `GET /api/v1/models` has it as `data`. */
const List = z.array(Listed).min(1);

const SECRET = 'OPENROUTER_API_KEY';
const TARGET = {
  upstream: 'openrouter',
  protocol: 'chat',
  baseUrl: 'https://openrouter.ai/api/v1',
} as const;

/** Why a model of the list cannot be called, or is not that of its id. */
const reasonAgainst = (
  { id, architecture, pricing }: Listed,
  catalog: Model[],
): string | undefined => {
  if (!ID.test(id)) return 'an id looks like vendor/model';
  if (catalog.some((model) => model.id === id)) return 'the list has it twice: the first counts';
  const outputs = architecture?.output_modalities ?? ['text'];
  if (!outputs.includes('text'))
    return `it makes ${outputs.join(', ')}: the router serves text generation only`;
  // OpenRouter's own routers have the price -1: that of the model they choose.
  const prices = Object.values(Pricing.parse(pricing ?? {}));
  return prices.some((price) => typeof price === 'number' && price < 0)
    ? 'its price is that of another model, which it chooses'
    : undefined;
};

const factsOf = (listed: Listed): Facts => {
  const { context_length: context, pricing, top_provider: provider, architecture } = listed;
  const parameters = listed.supported_parameters;
  const inputs = architecture?.input_modalities;
  return {
    max_input_tokens: context,
    max_output_tokens: provider?.max_completion_tokens,
    input_cost_per_token: pricing?.prompt,
    output_cost_per_token: pricing?.completion,
    cache_read_input_token_cost: pricing?.input_cache_read,
    // Where the list states 0, writing a cache costs what the tokens cost.
    cache_creation_input_token_cost: pricing?.input_cache_write || undefined,
    cache_creation_input_token_cost_above_1hr: pricing?.input_cache_write_1h || undefined,
    supports_function_calling: parameters?.includes('tools'),
    supports_vision: inputs?.includes('image'),
  };
};

/** Prices of other kinds, and those of some requests (`overrides`), which are a list. */
const unusedPrices = ({ id, pricing }: Listed): Note[] =>
  Object.entries(pricing ?? {})
    .filter(([kind, price]) => !Object.hasOwn(Pricing.shape, kind) && Number(price) !== 0)
    .map(([kind]) => ({
      place: `${id}.pricing.${kind}`,
      reason: 'add it to the prices of the target: docs/costs.md',
    }));

/** @throws UsageError with a line for what is not of the form, or for a chosen id that the list has not */
export const importOpenrouter = (
  source: Source,
  chosen: string[],
  { env, baseUrl, now }: { env: Env; baseUrl: string | undefined; now: number },
): Imported => {
  const listed = parseList(source, 'data', List);
  const absent = chosen.find((id) => !listed.some((model) => model.id === id));
  if (absent !== undefined) throw errorAt(source, [], `it has no model ${absent}`);
  const wanted = listed.filter(({ id }) => chosen.length === 0 || chosen.includes(id));
  const noCounterpart: Note[] = [];
  const assumed: Note[] = [];
  const catalog: Model[] = [];
  for (const model of wanted) {
    const reason = reasonAgainst(model, catalog);
    if (reason !== undefined) {
      noCounterpart.push({ place: model.id, reason });
      continue;
    }
    const { id, name, created } = model;
    const target = { ...TARGET, ...(baseUrl && { baseUrl }), model: id, secret: SECRET };
    const known = knownOf([factsOf(model)], target, id);
    assumed.push(...known.assumed);
    noCounterpart.push(...unusedPrices(model));
    catalog.push({
      id,
      display_name: name || id,
      created: created ?? Math.floor(now / 1_000),
      owned_by: id.split('/')[0] ?? id,
      ...known.members,
      targets: [priced({ target, known }, known.prices)],
    });
  }
  if (catalog.length === 0) throw errorAt(source, [], 'no model of it can be called');
  const { [SECRET]: credential } = env;
  return {
    catalog,
    secrets: credential ? { [SECRET]: credential } : {},
    missing: credential ? [] : [SECRET],
    plans: onePlan('imported'),
    noCounterpart,
    assumed,
  };
};
