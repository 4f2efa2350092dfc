import { PROGRAM } from '#program';
import type { Model as CatalogModel } from '../lambdas/catalog/catalog.ts';
import { isRetired } from '../lambdas/catalog/retirement.ts';
import { claude, shellWord } from '../lambdas/clients.ts';

type Model = Pick<CatalogModel, 'id' | 'context_length' | 'max_output_tokens' | 'retires'>;
type Address = {
  baseUrl: string;
  key: string;
  model: string;
  context: number;
  output: number;
};
const NO_MODEL: Model = { id: '', context_length: 0, max_output_tokens: 0 };

const PROMPT = 'Tell me something nice.';

const curl = (url: string, header: string, body: Record<string, unknown>): string =>
  [
    `curl -N ${url}`,
    `-H ${shellWord(header)}`,
    "-H 'content-type: application/json'",
    `-d ${shellWord(JSON.stringify(body))}`,
  ].join(' \\\n  ');

const conversation = (model: string) => ({
  model,
  stream: true,
  messages: [{ role: 'user', content: PROMPT }],
});

const chatCurl = ({ baseUrl, key, model }: Address): string =>
  curl(`${baseUrl}/v1/chat/completions`, `authorization: Bearer ${key}`, conversation(model));

const messagesCurl = ({ baseUrl, key, model }: Address): string =>
  curl(`${baseUrl}/v1/messages`, `x-api-key: ${key}`, { ...conversation(model), max_tokens: 1000 });

const turns = `[{ role: 'user', content: '${PROMPT}' }]`;

const openai = ({ baseUrl, key, model }: Address): string =>
  `import OpenAI from 'openai';
const openai = new OpenAI({ baseURL: '${baseUrl}/v1', apiKey: '${key}' });
const chunks = await openai.chat.completions.create({
  model: ${JSON.stringify(model)}, stream: true, messages: ${turns},
});
for await (const chunk of chunks) process.stdout.write(chunk.choices[0]?.delta?.content ?? '');`;

const anthropic = ({ baseUrl, key, model }: Address): string =>
  `import Anthropic from '@anthropic-ai/sdk';
const anthropic = new Anthropic({ baseURL: '${baseUrl}', apiKey: '${key}' });
await anthropic.messages
  .stream({ model: ${JSON.stringify(model)}, max_tokens: 1000, messages: ${turns} })
  .on('text', (text) => process.stdout.write(text))
  .done();`;

const claudeCode = ({ baseUrl, key, model, context, output }: Address): string => {
  const { variables, code } = claude({ url: baseUrl, model, context, output });
  const all = { ANTHROPIC_AUTH_TOKEN: key, ...variables };
  const set = Object.entries(all).map(([name, value]) => `${name}=${shellWord(value)}`);
  return [...set, `CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1 ${code}`].join(' \\\n  ');
};

const section = (title: string, text: string): string => `# ${title}\n${text}`;

/** The text printed when the router is ready: address, key, models and commands to paste. */
export const banner = (parts: {
  baseUrl: string;
  /** Empty on a data folder that has one already: it holds only hashes. */
  key: string;
  /** Those that are retired are not shown. */
  models: Model[];
}): string => {
  const { baseUrl, key } = parts;
  const models = parts.models.filter((model) => !isRetired(model, Date.now()));
  const [{ id: model, context_length: context, max_output_tokens: output } = NO_MODEL] = models;
  const address = { baseUrl, key: key || 'YOUR_KEY', model, context, output };
  const usage = `${PROGRAM.admin} usage --project local --url ${baseUrl}`;
  const shown =
    key || 'the one that the first start on this folder printed, or a new one from the console';
  return [
    `The model router is ready. Press Ctrl-C to stop it.\n\n  base URL  ${baseUrl}\n  key       ${shown}\n  models    ${models.map(({ id }) => id).join(', ')}\n  console   ${baseUrl}/dashboard`,
    section('Chat completions, streamed', chatCurl(address)),
    section('Messages, streamed', messagesCurl(address)),
    section('OpenAI SDK', openai(address)),
    section('Anthropic SDK', anthropic(address)),
    section(`Keys and usage (${PROGRAM.admin} --help)`, usage),
    section('Claude Code', claudeCode(address)),
  ].join('\n\n');
};
