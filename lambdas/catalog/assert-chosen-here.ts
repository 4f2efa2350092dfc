import { asArray, asRecord, asString } from '../protocols/bytes/json.ts';
import { invalidRequest } from '../support/errors.ts';

/** Members by which a provider or a gateway behind the router lets a request name other models. */
const MODELS = [
  ...['models', 'fallbacks', 'context_window_fallbacks', 'content_policy_fallbacks', 'preset'],
  ...['plugins[].model', 'plugins[].analysis_models', 'providerOptions.gateway.models'],
  ...['tools[].model', 'tools[].parameters.model', 'tools[].parameters.analysis_models'],
  // Gateways merge it into what they send.
  'extra_body',
];
/** Members by which it names who processes it, or where. */
const PROVIDERS = [
  ...['provider', 'custom_llm_provider', 'inference_geo', 'providerOptions.gateway.byok'],
  ...['providerOptions.gateway.order', 'providerOptions.gateway.only'],
];
/** Members by which it names an address, which would get the prompt and perhaps a key of the operator's. */
const ADDRESSES = ['api_base', 'base_url', 'api_key', 'user_config'];

/** Tools that ask another model, also if they name none. */
const ASKING = /^(?:openrouter:)?(?:advisor|fusion|subagent)/;

const isAt = (value: unknown, [name, ...rest]: string[]): boolean => {
  if (name === '[]') return asArray(value).some((one) => isAt(one, rest));
  if (name !== undefined) return isAt(asRecord(value)?.[name], rest);
  return value != null && value !== '' && !(Array.isArray(value) && value.length === 0);
};

/** Splits `tools[].model` into `tools`, `[]` and `model`. */
const BOUNDARY = /\.|(?=\[\])/;

const statedIn = (body: unknown, paths: string[]): string | undefined =>
  paths.find((path) => isAt(body, path.split(BOUNDARY)));

const asks = (tool: unknown): boolean => ASKING.test(asString(asRecord(tool)?.type) ?? '');

/** 400: no provider of the model has the labels. */
export const policyNotMet = (policy: string, model: string, headers: Record<string, string>) =>
  invalidRequest(
    `Your key or its plan requires ${policy}, and no provider of the model '${model}' has it.`,
    { code: 'policy_not_met', param: 'model', headers },
  );

/**
 * A target alone decides where a request goes that may not go everywhere: its body may not send it on to other models, or from
 * a plan or key with labels to other providers. No body may send one to another address.
 * @throws ApiError 400 that names the member
 */
export const assertChosenHere = (
  body: unknown,
  { models, require }: { models?: unknown; require?: unknown },
): void => {
  const address = statedIn(body, ADDRESSES);
  if (address !== undefined) {
    const text = `'${address}' is not accepted: the addresses and keys of providers are the operator's.`;
    throw invalidRequest(text, { param: address });
  }
  if (!models && !require) return;
  const tools = asArray(asRecord(body)?.tools).some(asks) ? 'tools[].type' : undefined;
  const param = statedIn(body, require ? [...MODELS, ...PROVIDERS] : MODELS) ?? tools;
  if (param === undefined) return;
  throw invalidRequest(
    `Your key or its plan may not use every model or provider, so '${param}' may not name others.`,
    { code: 'policy_not_met', param },
  );
};
