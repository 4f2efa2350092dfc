import { pageBase } from '../settings.ts';
import { type Asked, CALLER_APIS, type CallerApi, type Piece } from './conversation.ts';
import { ApiFailure, asFailure, failureOf, request } from './failure.ts';

/** Calls of the public API with a caller's key, which is in memory only. @throws ApiFailure */
const callAs = async (key: string, path: string, init: RequestInit = {}): Promise<Response> => {
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
  const response = await request(new URL(`v1/${path}`, pageBase), { ...init, headers });
  if (!response.ok) throw await failureOf(response);
  return response;
};

export type CallerModel = { id: string; context_length: number; max_output_tokens: number };

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

type ErrorEvent = {
  error?: { message?: string } | null;
  response?: { error?: { message?: string } | null };
};

/** The event in a line of a stream; undefined for its end. @throws ApiFailure for an error event */
const eventIn = (data: string): unknown => {
  if (data === '[DONE]') return undefined;
  const event: ErrorEvent & { type?: string; message?: string } = JSON.parse(data);
  const error = event.error ?? event.response?.error;
  if (error) throw new ApiFailure(error.message ?? 'The stream ended with an error.');
  if (event.type === 'error')
    throw new ApiFailure(event.message ?? 'The stream ended with an error.');
  return event;
};

/** Streams a response; returns the request's id. @throws ApiFailure, which has the id too */
export const streamPieces = async (
  { key, api, asked, signal }: { key: string; api: CallerApi; asked: Asked; signal: AbortSignal },
  onPiece: (piece: Piece) => void,
): Promise<string> => {
  const { path, bodyOf, piecesOf } = CALLER_APIS[api];
  const { model, temperature } = asked;
  const body = JSON.stringify({ model, ...bodyOf(asked), temperature, stream: true });
  const response = await callAs(key, path, { method: 'POST', body, signal });
  const requestId = response.headers.get('x-request-id') ?? '';
  if (!response.body) return requestId;
  try {
    for await (const line of linesOf(response.body)) {
      const event = line.startsWith('data: ') ? eventIn(line.slice('data: '.length)) : undefined;
      if (event) for (const piece of piecesOf(event)) onPiece(piece);
    }
  } catch (error) {
    throw new ApiFailure(asFailure(error).message, { requestId });
  }
  return requestId;
};
