import Anthropic from '@anthropic-ai/sdk';
import Anthropic0 from '@anthropic-ai/sdk-0';
import OpenAI from 'openai';
import OpenAI5 from 'openai-5';

export type Connection = { baseUrl: string; key: string; fetch?: typeof fetch };

/** One streamed question to a model, answered with the text that the SDK gave piece by piece. */
export type Caller = {
  name: string;
  /** What the family's callers see on silence. */
  heartbeat: string;
  /** @param onText gets each piece. Rejects with what the SDK throws. */
  stream(
    connection: Connection,
    ask: { model: string; prompt: string },
    onText?: (text: string) => void,
  ): Promise<string>;
};

const askOpenAI =
  (
    make: (options: { baseURL: string; apiKey: string; maxRetries: 0 }) => OpenAI,
  ): Caller['stream'] =>
  async ({ baseUrl, key, ...rest }, { model, prompt }, onText = () => {}) => {
    const client = make({ baseURL: `${baseUrl}/v1`, apiKey: key, maxRetries: 0, ...rest });
    const messages = [{ role: 'user' as const, content: prompt }];
    let whole = '';
    for await (const { choices } of await client.chat.completions.create({
      model,
      messages,
      stream: true,
    })) {
      const text = choices[0]?.delta.content ?? '';
      whole += text;
      onText(text);
    }
    return whole;
  };

const askAnthropic =
  (
    make: (options: { baseURL: string; apiKey: string; maxRetries: 0 }) => Anthropic,
  ): Caller['stream'] =>
  async ({ baseUrl, key, ...rest }, { model, prompt }, onText = () => {}) => {
    const client = make({ baseURL: baseUrl, apiKey: key, maxRetries: 0, ...rest });
    const messages = [{ role: 'user' as const, content: prompt }];
    let whole = '';
    for await (const event of await client.messages.create({
      model,
      max_tokens: 1000,
      messages,
      stream: true,
    })) {
      if (event.type !== 'content_block_delta' || event.delta.type !== 'text_delta') continue;
      whole += event.delta.text;
      onText(event.delta.text);
    }
    return whole;
  };

const chat = { heartbeat: ': waiting\n\n' };
const messages = { heartbeat: 'event: ping\ndata: {"type":"ping"}\n\n' };

/** Two majors of both official SDKs. The older ones have the same shape where this uses them. */
export const CALLERS: Caller[] = [
  { name: 'openai 7', ...chat, stream: askOpenAI((options) => new OpenAI(options)) },
  {
    name: 'openai 5',
    ...chat,
    stream: askOpenAI((options) => new OpenAI5(options) as unknown as OpenAI),
  },
  { name: 'anthropic 1', ...messages, stream: askAnthropic((options) => new Anthropic(options)) },
  {
    name: 'anthropic 0',
    ...messages,
    stream: askAnthropic((options) => new Anthropic0(options) as unknown as Anthropic),
  },
];
