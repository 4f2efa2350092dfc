import { readBodyText } from '../body-text.ts';
import { parseJsonObject } from '../json-text.ts';
import type { SharedMiddleware } from './middleware.ts';

/** Reads and parses the body of a POST; other methods' bodies are ignored. @throws ApiError 400, 413, 415. */
export const readBody = (): SharedMiddleware => {
  const readBodyBefore: SharedMiddleware['before'] = async ({ event: exchange }) => {
    if (exchange.match?.route.method !== 'POST') return;
    const { headers, body } = exchange.request;
    const { text, bytes } = await readBodyText(headers, body);
    exchange.body = { value: parseJsonObject(text), bytes };
  };
  return { before: readBodyBefore };
};
