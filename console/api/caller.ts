import { pageBase } from '../settings.ts';
import { ApiFailure, failureOf } from './failure.ts';
import { request } from './request.ts';

/** Calls of the public API with a caller's key, which is in memory only. @throws ApiFailure */
const callAs = async (key: string, path: string, init: RequestInit = {}): Promise<Response> => {
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
  const response = await request(new URL(`v1/${path}`, pageBase), { ...init, headers });
  if (!response.ok) throw await failureOf(response);
  return response;
};

export type CallerModel = { id: string; input_price_per_m: number; output_price_per_m: number };

/** The models that a key may use. @throws ApiFailure */
export const modelsOf = async (key: string): Promise<CallerModel[]> => {
  const { data }: { data: CallerModel[] } = await (await callAs(key, 'models')).json();
  return data;
};

type Window = { limit: number; used: number; remaining: number; resets_at: string };
export type OwnUsage = {
  key_id: string;
  project_id: string;
  plan: { id: string; rpm: number; quota: number; period: string };
  minute: Window;
  period: Window & { reserved?: number };
  last_used_at?: string;
};

/** What a key's plan allows and what it has used. @throws ApiFailure */
export const usageOf = async (key: string): Promise<OwnUsage> =>
  (await callAs(key, 'usage')).json();

type Prompt = {
  key: string;
  protocol: 'chat' | 'messages';
  model: string;
  prompt: string;
  signal: AbortSignal;
};

type Event = {
  choices?: { delta?: { content?: string } }[];
  delta?: { text?: string };
  error?: { message?: string };
};

const MAX_TOKENS = 1_000;

/** The text in the data of an event, of either protocol. @throws ApiFailure for an error event */
const textIn = (data: string): string => {
  if (data === '[DONE]') return '';
  const { choices, delta, error }: Event = JSON.parse(data);
  if (error) throw new ApiFailure(error.message ?? 'The stream ended with an error.');
  return choices?.[0]?.delta?.content ?? delta?.text ?? '';
};

/** Lines of a body, as they arrive. */
async function* linesOf(body: ReadableStream<Uint8Array>): AsyncGenerator<string> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let rest = '';
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    const lines = (rest + decoder.decode(value, { stream: true })).split('\n');
    rest = lines.pop() ?? '';
    yield* lines;
  }
}

/** Streams a response to one prompt; returns the request's id. @throws ApiFailure */
export const streamText = async (
  { key, protocol, model, prompt, signal }: Prompt,
  onText: (text: string) => void,
): Promise<string> => {
  const path = protocol === 'chat' ? 'chat/completions' : 'messages';
  const messages = [{ role: 'user', content: prompt }];
  const body = JSON.stringify({ model, messages, max_tokens: MAX_TOKENS, stream: true });
  const response = await callAs(key, path, { method: 'POST', body, signal });
  if (response.body) {
    for await (const line of linesOf(response.body)) {
      if (line.startsWith('data: ')) onText(textIn(line.slice('data: '.length)));
    }
  }
  return response.headers.get('x-request-id') ?? '';
};
