import { calcPrice } from '@pydantic/genai-prices';
import * as z from 'zod';
import type { Model, Target } from '../../lambdas/catalog/catalog.ts';
import type { Note } from './imported.ts';

const amount = z.number().nonnegative().nullish();

/** What LiteLLM says about a model: in `model_info`, in `litellm_params` and in its table of models, prices a token. */
export const Facts = z.looseObject({
  mode: z.string().nullish(),
  max_input_tokens: amount,
  max_output_tokens: amount,
  max_tokens: amount,
  input_cost_per_token: amount,
  output_cost_per_token: amount,
  cache_read_input_token_cost: amount,
  supports_function_calling: z.boolean().nullish(),
  supports_vision: z.boolean().nullish(),
});
export type Facts = z.infer<typeof Facts>;

/** 0.0000025 a token is 2.5 a million, without the error of binary fractions. */
const aMillion = (price: number): number => Number((price * 1e6).toPrecision(12));

const numberIn = (price: unknown): number | undefined => {
  if (typeof price === 'number') return price;
  const base = z.object({ base: z.number() }).safeParse(price);
  return base.data?.base;
};

/** A public table of prices, as `npm run prices` compares with. */
const inTable = ({ model, baseUrl }: Pick<Target, 'model' | 'baseUrl'>) => {
  const found =
    calcPrice({ input_tokens: 1 }, model, { providerApiUrl: baseUrl }) ??
    calcPrice({ input_tokens: 1 }, model);
  return {
    context: found?.model.context_window,
    input: numberIn(found?.model_price.input_mtok),
    output: numberIn(found?.model_price.output_mtok),
    cached: numberIn(found?.model_price.cache_read_mtok),
  };
};
export type Prices = { input: number; output: number; cached?: number };
export type Known = {
  sizes: Pick<Model, 'context_length' | 'max_output_tokens' | 'streaming' | 'tools' | 'vision'>;
  /** Undefined if none is known. */
  prices: Prices | undefined;
  assumed: Note[];
};

const CONTEXT = 128_000;
const OUTPUT = 8_192;

/** The first value of a member that one of the sources has. */
const firstOf = <Name extends keyof Facts>(sources: Facts[], name: Name) =>
  sources.find((source) => source[name] !== undefined && source[name] !== null)?.[name] ??
  undefined;

const pricesIn = (sources: Facts[], table: ReturnType<typeof inTable>): Prices | undefined => {
  const stated = (
    name: 'input_cost_per_token' | 'output_cost_per_token' | 'cache_read_input_token_cost',
  ) => {
    const price = firstOf(sources, name);
    return price === undefined ? undefined : aMillion(price);
  };
  const input = stated('input_cost_per_token') ?? table.input;
  const output = stated('output_cost_per_token') ?? table.output;
  if (input === undefined || output === undefined) return undefined;
  const cached = stated('cache_read_input_token_cost') ?? table.cached;
  return { input, output, ...(cached !== undefined && { cached }) };
};

/** What the sources say about a model, the first of them above the others, and what none of them says. */
export const knownOf = (
  sources: Facts[],
  target: Pick<Target, 'model' | 'baseUrl'>,
  place: string,
): Known => {
  const table = inTable(target);
  const assumed: Note[] = [];
  const orAssumed = <Value extends number | boolean>(
    member: string,
    known: Value | undefined,
    value: Value,
    reason: string,
  ): Value => {
    if (known !== undefined) return known;
    assumed.push({ place: `${place}.${member}`, reason: `${value}: ${reason}` });
    return value;
  };
  const prices = pricesIn(sources, table);
  if (prices === undefined) {
    const reason =
      'no price is known: costs are marked as incomplete, and requests under a budget get 400';
    assumed.push({ place: `${place}.input_price_per_m`, reason });
  }
  const stated = firstOf(sources, 'max_input_tokens') ?? table.context;
  const context = orAssumed(
    'context_length',
    stated,
    CONTEXT,
    'the file and the table of prices have none',
  );
  const output = firstOf(sources, 'max_output_tokens') ?? firstOf(sources, 'max_tokens');
  const tools = firstOf(sources, 'supports_function_calling');
  const vision = firstOf(sources, 'supports_vision');
  return {
    sizes: {
      context_length: context,
      max_output_tokens: Math.min(
        context,
        orAssumed(
          'max_output_tokens',
          output,
          OUTPUT,
          'what a response gets if its request names no limit',
        ),
      ),
      streaming: true,
      tools: orAssumed('tools', tools, true, 'the provider rejects them if the model has none'),
      vision: orAssumed(
        'vision',
        vision,
        true,
        'the provider rejects images if the model has none',
      ),
    },
    prices,
    assumed,
  };
};
