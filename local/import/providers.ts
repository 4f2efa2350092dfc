import type { Target } from '../../lambdas/catalog/catalog.ts';
import { CHAT, OTHERS, prefixOf } from './chat-providers.ts';
import type { Env } from './environment.ts';

/** Where a deployment is called; its credential is named elsewhere. */
export type Address = Pick<Target, 'protocol' | 'baseUrl' | 'model' | 'auth' | 'authHeader'>;

type Deployment = {
  /** `openai/gpt-5`, or without the provider. */
  model: string;
  provider?: string | null | undefined;
  mode?: string | null | undefined;
  base?: string | undefined;
  version?: string | null | undefined;
  region?: string | undefined;
  env?: Env;
};

const OWN_NAMES: [name: RegExp, provider: string][] = [
  [/^(?:gpt-|o\d|chatgpt-|ft:)/, 'openai'],
  [/^claude-/, 'anthropic'],
  [/^gemini-/, 'vertex_ai'],
  [/^command-/, 'cohere'],
  [/^(?:(?:us|eu|apac|global)\.)?(?:anthropic|amazon|meta|mistral|deepseek|openai)\./, 'bedrock'],
];

const trimmed = (base: string): string => base.replace(/\/{1,9}$/, '');

/** The provider whose own address it is. */
const providerAt = (base: string | undefined): string | undefined =>
  base && Object.keys(CHAT).find((provider) => CHAT[provider] === trimmed(base));

/** LiteLLM reads the provider from `custom_llm_provider`, the prefix, a well-known address or a well-known name. */
export const providerOf = ({ model, provider, base }: Deployment): Named => {
  const [prefix = '', ...rest] = model.split('/');
  const isPrefixed = rest.length > 0 && (prefix in CHAT || prefix in OTHERS || prefix in SPECIAL);
  if (provider && (!isPrefixed || prefix !== provider)) return { provider, name: model };
  if (isPrefixed) return { provider: prefix, name: rest.join('/') };
  const known = OWN_NAMES.find(([pattern]) => pattern.test(model))?.[1];
  return { provider: providerAt(base) ?? known ?? prefix, name: model };
};
type Named = { provider: string; name: string };

const openAi = (baseUrl: string, name: string, mode: string | null | undefined): Address => {
  const isResponses = name.startsWith('responses/') || mode === 'responses';
  return {
    protocol: isResponses ? 'responses' : 'chat',
    baseUrl,
    model: name.replace(/^responses\//, ''),
  };
};

/** The newer address needs no version; a dated one is in the query. */
const azure = (name: string, { base, version, mode }: Deployment): Address | string => {
  if (base === undefined) return 'api_base is missing: the address of the resource';
  const host = trimmed(base).replace(/\/openai(?:\/v1)?$/, '');
  const isDated = version && /^\d/.test(version) && mode !== 'responses';
  const baseUrl = isDated
    ? `${host}/openai/deployments/${encodeURIComponent(name)}?api-version=${encodeURIComponent(version)}`
    : `${host}/openai/v1`;
  return { ...openAi(baseUrl, name, mode), authHeader: 'api-key' };
};

/** Foundry's address is that of the resource for all of its models but Claude; other hosts serve one model. */
const azureAi = (name: string, { base, version }: Deployment): Address | string => {
  if (base === undefined) return 'api_base is missing: the address of the resource';
  const url = URL.parse(base);
  if (!url) return 'api_base is not a URL';
  if (/^claude-/.test(name)) {
    return { protocol: 'messages', baseUrl: `${url.origin}/anthropic`, model: name };
  }
  const stated = version ?? url.searchParams.get('api-version');
  const path = trimmed(url.pathname.replace(/\/chat\/completions$/, ''));
  if (!/\.(?:services\.ai|openai)\.azure\.com$/.test(url.hostname)) {
    const query = stated ? `?api-version=${encodeURIComponent(stated)}` : '';
    return { protocol: 'chat', baseUrl: `${url.origin}${path}${query}`, model: name };
  }
  const isNew = path.startsWith('/openai/v1');
  const query = `?api-version=${encodeURIComponent(stated ?? '2024-05-01-preview')}`;
  const baseUrl = isNew ? `${url.origin}/openai/v1` : `${url.origin}/models${query}`;
  return { protocol: 'chat', baseUrl, model: name, authHeader: 'api-key' };
};

/** Where and how LiteLLM calls a model of Bedrock: `us-east-1/`, `converse/`. */
const ROUTE =
  /^(?:(?<region>[a-z]{2}(?:-[a-z]{1,12}){1,2}-\d)|converse|converse_like|invoke|openai|mantle|nova|nova-2|llama|deepseek_r1|qwen3)\//;

/** `converse/us.anthropic.claude-haiku-4-5-20251001-v1:0` is `anthropic.claude-haiku-4-5` at the endpoint of messages. */
const bedrock = (name: string, { region: stated }: Deployment): Address | string => {
  let [model, region] = [name, stated];
  for (let route = ROUTE.exec(model); route; route = ROUTE.exec(model)) {
    region = route.groups?.region ?? region;
    model = model.slice(route[0].length);
  }
  if (region === undefined) return 'aws_region_name is missing, and AWS_REGION is not set';
  if (model.startsWith('arn:')) return 'an ARN does not say which model it is: name the model';
  if (!/^(?:\w+\.)?anthropic\./.test(model)) {
    const baseUrl = `https://bedrock-runtime.${region}.amazonaws.com/openai/v1`;
    return { protocol: 'chat', baseUrl, model, auth: 'iam' };
  }
  return {
    protocol: 'messages',
    baseUrl: `https://bedrock-mantle.${region}.api.aws/anthropic`,
    model: model.replace(/^\w+\.(?=anthropic\.)/, '').replace(/(?:-\d{8})?-v\d+(?::\d+)?$/, ''),
    auth: 'iam',
  };
};

const SPECIAL: Record<string, (name: string, deployment: Deployment) => Address | string> = {
  anthropic: (name, { base = 'https://api.anthropic.com' }) => ({
    protocol: 'messages',
    baseUrl: trimmed(base).replace(/\/v1(?:\/messages)?$/, ''),
    model: name,
  }),
  gemini: (name, { base = 'https://generativelanguage.googleapis.com/v1beta' }) => ({
    protocol: 'gemini',
    baseUrl: trimmed(base),
    model: name,
  }),
  azure,
  azure_ai: azureAi,
  bedrock,
  bedrock_converse: bedrock,
};

/** A variable takes the place of its name in braces. */
const filled = (base: string, env: Env): string =>
  base.replaceAll(/\{(\w{1,80})\}/g, (whole, name: string) => env[name] || whole);

/** The address that is stated, or that is the provider's own. */
const baseOf = (provider: string, { base, env = {} }: Deployment): string => {
  const stated = base ?? filled(CHAT[provider] ?? '', env);
  // Cloudflare's own API is below the same path, and Ollama's at the same host.
  const own = trimmed(stated).replace(/(?<=\.cloudflare\.com\/.*\/ai)\/run$/, '/v1');
  return own !== '' && provider.startsWith('ollama') && !own.endsWith('/v1') ? `${own}/v1` : own;
};

/** One address for all. */
const isPublic = (provider: string): boolean =>
  /^(?:anthropic|gemini)$/.test(provider) || CHAT[provider]?.startsWith('https:') === true;

const UNKNOWN =
  'is not known to this command: if its api_base speaks chat completions, write openai/ before its name';

/** Where the router calls a deployment, or why it cannot. */
export const addressOf = (deployment: Deployment): Address | string => {
  const { provider, name } = providerOf(deployment);
  if (name === '') return 'it names no model';
  if (name.includes('*')) return 'a catalog lists each model: name those that are used';
  // For the others a variable of this machine may be the address of the proxy, which programs call.
  const variable = isPublic(provider)
    ? undefined
    : deployment.env?.[`${prefixOf(provider)}_API_BASE`];
  const { base = variable } = deployment;
  const special = SPECIAL[provider];
  if (special) return special(name, { ...deployment, base });
  const reason = OTHERS[provider];
  if (reason !== undefined) return reason;
  if (CHAT[provider] === undefined) return `the provider '${provider}' ${UNKNOWN}`;
  const address = baseOf(provider, { ...deployment, base });
  if (address === '') return 'api_base is missing';
  const [, unset] = /\{(\w{1,80})\}/.exec(address) ?? [];
  if (unset) return `the environment variable ${unset} is not set`;
  return openAi(address, name, deployment.mode);
};
