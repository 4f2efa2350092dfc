/** Code for a new key. The key is read from an environment variable: it does not belong in code. */
export const KEY_VARIABLE = 'ROUTER_API_KEY';

type Address = { url: string; model: string; prompt?: string };
const PROMPT = 'Hello!';

const quoted = (text: string): string => JSON.stringify(text);
/** Single-quoted for the shell. A model's id may contain quotes. */
const shellQuoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;

const openai = ({ url, model, prompt = PROMPT }: Address): string => `import OpenAI from 'openai';

const client = new OpenAI({
  baseURL: ${quoted(`${url}/v1`)},
  apiKey: process.env.${KEY_VARIABLE},
});
const completion = await client.chat.completions.create({
  model: ${quoted(model)},
  messages: [{ role: 'user', content: ${quoted(prompt)} }],
});
console.log(completion.choices[0].message.content);`;

const anthropic = ({
  url,
  model,
  prompt = PROMPT,
}: Address): string => `import Anthropic from '@anthropic-ai/sdk';

const client = new Anthropic({
  baseURL: ${quoted(url)},
  apiKey: process.env.${KEY_VARIABLE},
});
const message = await client.messages.create({
  model: ${quoted(model)},
  max_tokens: 1000,
  messages: [{ role: 'user', content: ${quoted(prompt)} }],
});
console.log(message.content);`;

/** Claude Code chooses one of them by the task. */
const CLAUDE_MODELS = [
  'ANTHROPIC_MODEL',
  'ANTHROPIC_DEFAULT_HAIKU_MODEL',
  'ANTHROPIC_DEFAULT_SONNET_MODEL',
  'ANTHROPIC_DEFAULT_OPUS_MODEL',
];

const claudeCode = ({ url, model }: Address): string => {
  const name = shellQuoted(model);
  return [
    `export ANTHROPIC_BASE_URL=${shellQuoted(url)}`,
    `export ANTHROPIC_AUTH_TOKEN="$${KEY_VARIABLE}"`,
    ...CLAUDE_MODELS.map((variable) => `export ${variable}=${name}`),
    'claude',
  ].join('\n');
};

const curl = ({ url, model, prompt = PROMPT }: Address): string => {
  const body = { model, messages: [{ role: 'user', content: prompt }] };
  return [
    `curl ${shellQuoted(`${url}/v1/chat/completions`)} \\`,
    `  -H "authorization: Bearer $${KEY_VARIABLE}" \\`,
    "  -H 'content-type: application/json' \\",
    `  -d ${shellQuoted(JSON.stringify(body))}`,
  ].join('\n');
};

/** The ways to use a key, at the address and with a model that it may use. */
export const snippetsFor = (address: Address): { id: string; title: string; code: string }[] => [
  { id: 'openai', title: 'OpenAI SDK', code: openai(address) },
  { id: 'anthropic', title: 'Anthropic SDK', code: anthropic(address) },
  { id: 'claude-code', title: 'Claude Code', code: claudeCode(address) },
  { id: 'curl', title: 'curl', code: curl(address) },
];
