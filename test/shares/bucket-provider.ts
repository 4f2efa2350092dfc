import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { listen } from '../../local/loopback.ts';
import { chatWire } from '../support/translate.ts';

/** What the provider counted of a request, in its own log. */
export type Entry = { at: number; tenant: string; tokens: number; isRejected: boolean };

type Bucket = {
  /** Tokens of input and output a minute. */
  tpm: number;
  /** What the bucket holds, in milliseconds of the rate. */
  holdsMs: number;
  /** Of what it holds, at its start. */
  filled?: number;
  now(): number;
};

type Body = {
  max_tokens?: number;
  max_completion_tokens?: number;
  messages: { content: string }[];
};

/** The prompt's own words say who asks. */
const TENANT = /tenant=([\w-]+)/;
const RESERVED = 5;

/** A word is a token. */
const tokensIn = (body: Body): number =>
  body.messages.reduce((sum, { content }) => sum + content.split(' ').length, 0) +
  (body.max_tokens ?? body.max_completion_tokens ?? RESERVED);

/**
 * A provider with a token bucket that is filled continuously. It counts the prompt and `max_tokens` when a request arrives,
 * and rejects with 429 what does not fit, without a grace.
 */
export const startBucketProvider = async ({ tpm, holdsMs, filled = 0.5, now }: Bucket) => {
  const log: Entry[] = [];
  const rate = tpm / 60_000;
  const most = rate * holdsMs;
  let level = most * filled;
  let at = now();

  const answer = async (request: IncomingMessage, response: ServerResponse) => {
    const body: Body = JSON.parse((await buffer(request)).toString());
    const [, tenant = ''] = TENANT.exec(body.messages.at(-1)?.content ?? '') ?? [];
    const tokens = tokensIn(body);
    const current = now();
    level = Math.min(most, level + rate * Math.max(0, current - at));
    at = current;
    const isRejected = level < tokens;
    log.push({ at: current, tenant, tokens, isRejected });
    if (isRejected) {
      const seconds = Math.ceil((tokens - level) / rate / 1_000);
      response
        .writeHead(429, { 'content-type': 'application/json', 'retry-after': String(seconds) })
        .end('{"error":{"type":"tokens","code":"rate_limit_exceeded","message":"Rate limit"}}');
      return;
    }
    level -= tokens;
    const completion = body.max_tokens ?? body.max_completion_tokens ?? RESERVED;
    response.writeHead(200, {
      'content-type': 'text/event-stream',
      'x-ratelimit-limit-tokens': String(tpm),
      'x-ratelimit-remaining-tokens': String(Math.floor(level)),
    });
    response.end(
      chatWire([
        { choices: [{ index: 0, delta: { content: 'word' }, finish_reason: null }] },
        {
          choices: [{ index: 0, delta: {}, finish_reason: 'stop' }],
          usage: { prompt_tokens: tokens - completion, completion_tokens: completion },
        },
      ]),
    );
  };

  const { url, close } = await listen(
    createServer((request, response) => void answer(request, response)),
  );
  return { url, log, close };
};
