/** CONTRACT of cli/, console/ and local/: how each client is configured to call the router. */

/** What a client is configured with. */
export type Connection = {
  /** Base address of the router, without a slash or `/v1` at its end. */
  url: string;
  model: string;
  /** The model's context in tokens; clients that do not know it assume one. */
  context: number;
  /** The model's longest response in tokens. */
  output: number;
  /** What code asks the model. @default say hi */
  prompt?: string;
};

/** Name of the variable that holds the key: no file and no line of output contains the key itself. */
export const KEY = 'ROUTER_API_KEY';

/** How a client is configured: variables of its environment, a file, or code. */
export type Configuration = {
  variables?: Record<string, string>;
  keyVariable?: string;
  /** `path` is relative to the folder of the project, or to the home folder if it begins with `~/`. */
  file?: { path: string; text: string };
  /** Code or a command to paste. */
  code?: string;
};

/**
 * What is pasted: the variables, the file and the code.
 * @param place the file's text below its path, or what was done with the file
 */
export const textOf = (
  { variables = {}, keyVariable, file, code }: Configuration,
  place = file && `# ${file.path}\n${file.text}`,
): string => {
  const exports = Object.entries(variables).map(
    ([name, value]) => `export ${name}=${shellWord(value)}`,
  );
  if (keyVariable !== undefined) exports.push(`export ${keyVariable}="$${KEY}"`);
  return [exports.join('\n'), place, code].filter(Boolean).join('\n\n');
};

const json = (value: unknown): string => `${JSON.stringify(value, null, 2)}\n`;

/** A text in JavaScript, Python, TOML and YAML, whose escapes are those of JSON. */
const quoted = (text: string): string => JSON.stringify(text);

const SHELL_WORD = /^[\w@%+:,./=-]+$/;

/** A text as one word of a shell, which expands nothing of it. */
export const shellWord = (text: string): string =>
  SHELL_WORD.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;

export const codex = ({ url, model, context }: Connection) => ({
  file: {
    path: '~/.codex/config.toml',
    text: `model = ${quoted(model)}
model_provider = "router"
model_context_window = ${context}

[model_providers.router]
name = "Router"
base_url = ${quoted(`${url}/v1`)}
env_key = "${KEY}"
wire_api = "responses"
# A repeat of a request that was answered is another unit of the quota.
request_max_retries = 1
stream_max_retries = 2
`,
  },
});

export const claude = ({ url, model, context }: Connection) => ({
  keyVariable: 'ANTHROPIC_AUTH_TOKEN',
  variables: {
    ANTHROPIC_BASE_URL: url,
    ANTHROPIC_MODEL: model,
    ANTHROPIC_DEFAULT_HAIKU_MODEL: model,
    ANTHROPIC_DEFAULT_SONNET_MODEL: model,
    ANTHROPIC_DEFAULT_OPUS_MODEL: model,
    // Without it each start warns that the window of the model is not known.
    CLAUDE_CODE_MAX_CONTEXT_TOKENS: String(context),
  },
  code: 'claude',
});

export const opencode = ({ url, model, context, output }: Connection) => ({
  file: {
    path: 'opencode.json',
    text: json({
      $schema: 'https://opencode.ai/config.json',
      model: `router/${model}`,
      provider: {
        router: {
          npm: '@ai-sdk/openai-compatible',
          name: 'Router',
          options: { baseURL: `${url}/v1`, apiKey: `{env:${KEY}}` },
          models: { [model]: { name: model, limit: { context, output } } },
        },
      },
    }),
  },
});

const aider = ({ url, model, context, output }: Connection): Configuration => ({
  keyVariable: 'OPENAI_API_KEY',
  variables: { OPENAI_API_BASE: `${url}/v1` },
  file: {
    path: '.aider.model.metadata.json',
    text: json({
      [`openai/${model}`]: {
        max_input_tokens: context,
        max_output_tokens: output,
        litellm_provider: 'openai',
        mode: 'chat',
      },
    }),
  },
  code: `aider --model ${shellWord(`openai/${model}`)}`,
});

export const qwen = ({ url, model }: Connection) => ({
  keyVariable: 'OPENAI_API_KEY',
  variables: { OPENAI_BASE_URL: `${url}/v1`, OPENAI_MODEL: model },
});

const cline = ({ url, model, context }: Connection): Configuration => ({
  code: `Settings > API Provider: OpenAI Compatible
Base URL: ${url}/v1
API Key: the value of ${KEY}
Model ID: ${model}
Context Window Size: ${context}

# The command line, which stores the key in its settings
cline auth -p openai -k "$${KEY}" -m ${shellWord(model)} -b ${shellWord(`${url}/v1`)}`,
});

export const continueDev = ({ url, model, context, output }: Connection) => ({
  file: {
    path: '.continue/models/router.yaml',
    text: `name: Router
version: 0.0.1
schema: v1
models:
  - name: ${quoted(model)}
    provider: openai
    model: ${quoted(model)}
    apiBase: ${quoted(`${url}/v1`)}
    apiKey: \${{ secrets.${KEY} }}
    contextLength: ${context}
    defaultCompletionOptions:
      maxTokens: ${output}
`,
  },
});

export const pi = ({ url, model, context, output }: Connection) => ({
  file: {
    path: '~/.pi/agent/models.json',
    text: json({
      providers: {
        router: {
          baseUrl: `${url}/v1`,
          api: 'openai-completions',
          // The name of the variable that holds it.
          apiKey: KEY,
          models: [{ id: model, contextWindow: context, maxTokens: output }],
        },
      },
    }),
  },
  code: `pi --model ${shellWord(`router/${model}`)}`,
});

const llamaIndex = ({ url, model, context }: Connection): Configuration => ({
  code: `import os
from llama_index.llms.openai_like import OpenAILike

llm = OpenAILike(
    model=${quoted(model)},
    api_base=${quoted(`${url}/v1`)},
    api_key=os.environ["${KEY}"],
    context_window=${context},
    is_chat_model=True,
    is_function_calling_model=True,
)`,
});

const agentsJs = ({ url, model }: Connection): Configuration => ({
  code: `import { Agent, setDefaultOpenAIClient } from '@openai/agents';
import OpenAI from 'openai';

setDefaultOpenAIClient(new OpenAI({ baseURL: ${quoted(`${url}/v1`)}, apiKey: process.env.${KEY} }));
const agent = new Agent({ name: 'Agent', model: ${quoted(model)} });`,
});

const agentsPython = ({ url, model }: Connection): Configuration => ({
  code: `import os
from agents import Agent, set_default_openai_client
from openai import AsyncOpenAI

set_default_openai_client(AsyncOpenAI(base_url=${quoted(`${url}/v1`)}, api_key=os.environ["${KEY}"]))
agent = Agent(name="Agent", model=${quoted(model)})`,
});

const litellm = ({ url, model }: Connection): Configuration => ({
  code: `import os
import litellm

litellm.completion(
    model=${quoted(`openai/${model}`)},
    api_base=${quoted(`${url}/v1`)},
    api_key=os.environ["${KEY}"],
    messages=[{"role": "user", "content": "Hello"}],
)`,
});

const langchain = ({ url, model }: Connection): Configuration => ({
  code: `import { ChatOpenAI } from '@langchain/openai';

const llm = new ChatOpenAI({
  model: ${quoted(model)},
  apiKey: process.env.${KEY},
  configuration: { baseURL: ${quoted(`${url}/v1`)} },
});`,
});

const PROMPT = 'say hi';

const openai = ({ url, model, prompt = PROMPT }: Connection): Configuration => ({
  code: `import OpenAI from 'openai';

const client = new OpenAI({
  baseURL: ${quoted(`${url}/v1`)},
  apiKey: process.env.${KEY},
});
const completion = await client.chat.completions.create({
  model: ${quoted(model)},
  messages: [{ role: 'user', content: ${quoted(prompt)} }],
});
console.log(completion.choices[0].message.content);`,
});

const anthropic = ({ url, model, prompt = PROMPT }: Connection): Configuration => ({
  code: `import Anthropic from '@anthropic-ai/sdk';

const client = new Anthropic({
  baseURL: ${quoted(url)},
  apiKey: process.env.${KEY},
});
const message = await client.messages.create({
  model: ${quoted(model)},
  max_tokens: 1000,
  messages: [{ role: 'user', content: ${quoted(prompt)} }],
});
console.log(message.content);`,
});

const curl = ({ url, model, prompt = PROMPT }: Connection): Configuration => ({
  code: `curl -sS ${shellWord(`${url}/v1/chat/completions`)} -H "authorization: Bearer $${KEY}" \\
  -H 'content-type: application/json' \\
  -d ${shellWord(JSON.stringify({ model, messages: [{ role: 'user', content: prompt }] }))}`,
});

/** The clients that the console has code for, by the title of their tab. */
export const IN_CONSOLE = {
  'OpenAI SDK': openai,
  'Anthropic SDK': anthropic,
  'Claude Code': claude,
  curl,
};

/** The clients by the name that `npm run connect` accepts. */
export const CLIENTS: Record<string, (connection: Connection) => Configuration> = {
  codex,
  claude,
  opencode,
  aider,
  cline,
  continue: continueDev,
  qwen,
  pi,
  'llama-index': llamaIndex,
  'agents-js': agentsJs,
  'agents-python': agentsPython,
  litellm,
  langchain,
  openai,
  anthropic,
  curl,
};
