import type { Target } from '../../lambdas/catalog/catalog.ts';

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
};

/** Providers that speak chat completions, by LiteLLM's names; '' where only an address makes it one. */
const CHAT: Record<string, string> = {
  openai: 'https://api.openai.com/v1',
  groq: 'https://api.groq.com/openai/v1',
  mistral: 'https://api.mistral.ai/v1',
  deepseek: 'https://api.deepseek.com',
  xai: 'https://api.x.ai/v1',
  openrouter: 'https://openrouter.ai/api/v1',
  together_ai: 'https://api.together.ai/v1',
  fireworks_ai: 'https://api.fireworks.ai/inference/v1',
  deepinfra: 'https://api.deepinfra.com/v1/openai',
  cerebras: 'https://api.cerebras.ai/v1',
  moonshot: 'https://api.moonshot.ai/v1',
  nvidia_nim: 'https://integrate.api.nvidia.com/v1',
  sambanova: 'https://api.sambanova.ai/v1',
  perplexity: 'https://api.perplexity.ai',
  zai: 'https://api.z.ai/api/paas/v4',
  ollama: '',
  ollama_chat: '',
  hosted_vllm: '',
  vllm: '',
  lm_studio: '',
  openai_like: '',
  custom_openai: '',
  litellm_proxy: '',
  databricks: '',
};

/** Servers of one's own, whose tokens are not billed. */
export const isOwnServer = (provider: string): boolean =>
  /^(?:ollama|ollama_chat|hosted_vllm|vllm|lm_studio)$/.test(provider);

/** Served by other routes, or by a protocol that no target speaks. */
const OTHERS: Record<string, string> = {
  vertex_ai:
    'Vertex AI takes tokens of a service account, which end after an hour: use gemini/ with an API key',
  azure_ai: 'the address depends on the model: docs/providers.md#azure',
  sagemaker: 'its endpoints have protocols of their own',
  'text-completion-openai': 'the router serves chat completions, messages and responses',
};

const OWN_NAMES: [name: RegExp, provider: string][] = [
  [/^(?:gpt-|o\d|chatgpt-|ft:)/, 'openai'],
  [/^claude-/, 'anthropic'],
  [/^gemini-/, 'vertex_ai'],
];

const trimmed = (base: string): string => base.replace(/\/{1,9}$/, '');

/** LiteLLM reads the provider from `custom_llm_provider`, the prefix, or a well-known name. */
export const providerOf = ({ model, provider }: Deployment): { provider: string; name: string } => {
  const [prefix = '', ...rest] = model.split('/');
  const isPrefixed = rest.length > 0 && (prefix in CHAT || prefix in OTHERS || prefix in SPECIAL);
  if (provider && (!isPrefixed || prefix !== provider)) return { provider, name: model };
  if (isPrefixed) return { provider: prefix, name: rest.join('/') };
  const known = OWN_NAMES.find(([pattern]) => pattern.test(model));
  return { provider: known?.[1] ?? prefix, name: model };
};

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

/** `converse/us.anthropic.claude-haiku-4-5-20251001-v1:0` is `anthropic.claude-haiku-4-5` at the endpoint of messages. */
const bedrock = (name: string, { region }: Deployment): Address | string => {
  if (region === undefined) return 'aws_region_name is missing, and AWS_REGION is not set';
  const model = name.replace(/^(?:converse|invoke)\//, '');
  if (!/^(?:\w+\.)?anthropic\./.test(model)) {
    const baseUrl = `https://bedrock-runtime.${region}.amazonaws.com/openai/v1`;
    return { protocol: 'chat', baseUrl, model, auth: 'iam' };
  }
  return {
    protocol: 'messages',
    baseUrl: `https://bedrock-mantle.${region}.api.aws/anthropic`,
    model: model.replace(/^\w+\.(?=anthropic\.)/, '').replace(/-\d{8}-v\d+(?::\d+)?$/, ''),
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
  bedrock,
  bedrock_converse: bedrock,
};

/** Where the router calls a deployment, or why it cannot. */
export const addressOf = (deployment: Deployment): Address | string => {
  const { provider, name } = providerOf(deployment);
  if (name === '') return 'it names no model';
  if (name.includes('*')) return 'a catalog lists each model: name those that are used';
  const special = SPECIAL[provider];
  if (special) return special(name, deployment);
  const reason = OTHERS[provider];
  if (reason !== undefined) return reason;
  const known = CHAT[provider];
  if (known === undefined) return `the provider '${provider}' is not known to this command`;
  const base = trimmed(deployment.base ?? known);
  if (base === '') return 'api_base is missing';
  // Ollama's own API is below the same host.
  const isOllama = provider.startsWith('ollama') && !base.endsWith('/v1');
  return openAi(isOllama ? `${base}/v1` : base, name, deployment.mode);
};

/** Where LiteLLM finds the credential if the deployment names none. */
export const credentialName = (provider: string): string =>
  `${provider.toUpperCase().replaceAll('-', '_')}_API_KEY`;
