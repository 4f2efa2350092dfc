import { gzipSync } from 'node:zlib';
import { retryAfterSeconds } from '../support/retry-after.ts';
import type { Answer, Post } from './exporter.ts';

/** A collector that says nothing for so long is away. Milliseconds. */
const TIMEOUT_MS = 10_000;
/** Enough of an answer to say what was rejected. Characters. */
const MAX_ANSWER = 64 * 1024;

/**
 * Headers in the form of `OTEL_EXPORTER_OTLP_HEADERS`: `name=value,name=value`, values percent-encoded.
 * @throws Error that names the header and not its value
 */
export const readHeaders = (text: string): Record<string, string> => {
  const headers = new Headers();
  for (const pair of text.split(',')) {
    const at = pair.indexOf('=');
    if (at <= 0) continue;
    const name = pair.slice(0, at).trim();
    try {
      headers.set(name, decodeURIComponent(pair.slice(at + 1).trim()));
    } catch {
      throw new Error(
        `Invalid header '${name}' of the OTLP collector: must be a header's name and its percent-encoded value, e.g. authorization=Bearer%20KEY.`,
      );
    }
  }
  return Object.fromEntries(headers);
};

/** Posts to a collector by OTLP over HTTP with JSON. `readSecretHeaders` gives the headers that authorize it. */
export const createPost = (parts: {
  /** Its base address, e.g. `http://127.0.0.1:4318`. */
  endpoint: string;
  readSecretHeaders: () => Promise<Record<string, string>>;
  now: () => number;
}): Post => {
  const { endpoint, readSecretHeaders, now } = parts;
  const base = endpoint.replace(/\/$/, '');
  return async (path, body): Promise<Answer> => {
    const response = await fetch(base + path, {
      method: 'POST',
      headers: {
        ...(await readSecretHeaders()),
        'content-type': 'application/json',
        'content-encoding': 'gzip',
      },
      body: gzipSync(body),
      redirect: 'error',
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
    const text = (await response.text()).slice(0, MAX_ANSWER);
    const asked = retryAfterSeconds(response.headers.get('retry-after') ?? undefined, now());
    const retryAfterMs = asked === undefined ? undefined : asked * 1_000;
    return { status: response.status, body: text, retryAfterMs };
  };
};
