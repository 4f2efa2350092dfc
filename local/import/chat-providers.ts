/**
 * Providers that speak chat completions, by LiteLLM's names, and where: '' where only the deployment says it. A name in
 * braces is a variable's.
 */
export const CHAT: Record<string, string> = {
  ai21: 'https://api.ai21.com/studio/v1',
  ai21_chat: 'https://api.ai21.com/studio/v1',
  baseten: 'https://inference.baseten.co/v1',
  cerebras: 'https://api.cerebras.ai/v1',
  chutes: 'https://llm.chutes.ai/v1',
  cloudflare: 'https://api.cloudflare.com/client/v4/accounts/{CLOUDFLARE_ACCOUNT_ID}/ai/v1',
  codestral: 'https://codestral.mistral.ai/v1',
  cohere: 'https://api.cohere.ai/compatibility/v1',
  cohere_chat: 'https://api.cohere.ai/compatibility/v1',
  cometapi: 'https://api.cometapi.com/v1',
  custom_openai: '',
  dashscope: 'https://dashscope-intl.aliyuncs.com/compatible-mode/v1',
  databricks: '',
  deepinfra: 'https://api.deepinfra.com/v1/openai',
  deepseek: 'https://api.deepseek.com',
  docker_model_runner: 'http://localhost:12434/engines/v1',
  featherless_ai: 'https://api.featherless.ai/v1',
  fireworks_ai: 'https://api.fireworks.ai/inference/v1',
  friendliai: 'https://api.friendli.ai/serverless/v1',
  github: 'https://models.github.ai/inference',
  groq: 'https://api.groq.com/openai/v1',
  hosted_vllm: '',
  huggingface: 'https://router.huggingface.co/v1',
  hyperbolic: 'https://api.hyperbolic.xyz/v1',
  inception: 'https://api.inceptionlabs.ai/v1',
  lambda_ai: 'https://api.lambda.ai/v1',
  litellm_proxy: '',
  llamafile: 'http://localhost:8080/v1',
  lm_studio: '',
  meta_llama: 'https://api.llama.com/compat/v1',
  minimax: 'https://api.minimax.io/v1',
  mistral: 'https://api.mistral.ai/v1',
  moonshot: 'https://api.moonshot.ai/v1',
  'nano-gpt': 'https://nano-gpt.com/api/v1',
  nebius: 'https://api.studio.nebius.ai/v1',
  novita: 'https://api.novita.ai/v3/openai',
  nscale: 'https://inference.api.nscale.com/v1',
  nvidia_nim: 'https://integrate.api.nvidia.com/v1',
  ollama: 'http://localhost:11434',
  ollama_chat: 'http://localhost:11434',
  openai: 'https://api.openai.com/v1',
  openai_like: '',
  openrouter: 'https://openrouter.ai/api/v1',
  perplexity: 'https://api.perplexity.ai',
  poe: 'https://api.poe.com/v1',
  sambanova: 'https://api.sambanova.ai/v1',
  scaleway: 'https://api.scaleway.ai/v1',
  together_ai: 'https://api.together.ai/v1',
  vercel_ai_gateway: 'https://ai-gateway.vercel.sh/v1',
  veniceai: 'https://api.venice.ai/api/v1',
  vllm: '',
  volcengine: 'https://ark.cn-beijing.volces.com/api/v3',
  wandb: 'https://api.inference.wandb.ai/v1',
  xai: 'https://api.x.ai/v1',
  xinference: '',
  zai: 'https://api.z.ai/api/paas/v4',
};

/** Servers of one's own, whose tokens are not billed, and which take any credential. */
export const isOwnServer = (provider: string): boolean =>
  /^(?:ollama|ollama_chat|hosted_vllm|vllm|lm_studio|llamafile|docker_model_runner|xinference)$/.test(
    provider,
  );

const SIGN_IN =
  'its tokens come of a sign-in and end after an hour, and a target has one credential';

/** Served by other routes, or by a protocol that no target speaks. */
export const OTHERS: Record<string, string> = {
  vertex_ai:
    'Vertex AI takes tokens of a service account, which end after an hour: use gemini/ with an API key',
  github_copilot: SIGN_IN,
  chatgpt: SIGN_IN,
  sagemaker: 'its endpoints have protocols of their own',
  sagemaker_chat: 'its endpoints have protocols of their own',
  auto_router: 'no model is chosen by the prompt: name the models in the requests',
  'text-completion-openai': 'the router serves chat completions, messages and responses',
};

/** Variables that LiteLLM reads besides the one of the provider's name. */
const VARIABLES: Record<string, string> = {
  ai21_chat: 'AI21_API_KEY',
  cohere_chat: 'COHERE_API_KEY',
  fireworks_ai: 'FIREWORKS_API_KEY',
  friendliai: 'FRIENDLI_TOKEN',
  gemini: 'GOOGLE_API_KEY',
  huggingface: 'HF_TOKEN',
  lambda_ai: 'LAMBDA_API_KEY',
  meta_llama: 'LLAMA_API_KEY',
  'nano-gpt': 'NANOGPT_API_KEY',
  ollama_chat: 'OLLAMA_API_KEY',
  perplexity: 'PERPLEXITYAI_API_KEY',
  scaleway: 'SCW_SECRET_KEY',
  together_ai: 'TOGETHERAI_API_KEY',
  veniceai: 'VENICE_AI_API_KEY',
  volcengine: 'ARK_API_KEY',
};

/** `OPENAI` of `OPENAI_API_KEY` and `OPENAI_API_BASE`. */
export const prefixOf = (provider: string): string => provider.toUpperCase().replaceAll('-', '_');

/** Where LiteLLM finds the credential if the deployment names none. */
export const credentialName = (
  provider: string,
  env: Record<string, string | undefined>,
): string => {
  const own = `${prefixOf(provider)}_API_KEY`;
  const other = VARIABLES[provider];
  return !env[own] && other && env[other] ? other : own;
};
