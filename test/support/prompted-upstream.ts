import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { json } from 'node:stream/consumers';
import { asArray, asRecord } from '../../lambdas/protocols/bytes/json.ts';
import { listen } from '../../local/loopback.ts';
import { answer, breakOff, status } from './fleet-upstream.ts';
import { chatWire } from './translate.ts';

const sse = (response: ServerResponse, text: string) =>
  void response.writeHead(200, { 'content-type': 'text/event-stream' }).end(text);

const chunk = (delta: object, finish: string | null = null) => ({
  choices: [{ index: 0, delta, finish_reason: finish }],
});

/** What one prompt makes the provider do; other prompts are answered. */
const ACTS: Record<string, (response: ServerResponse) => void> = {
  400: status(400),
  402: status(402),
  403: status(403),
  404: status(404),
  429: status(429, { 'retry-after': '30' }),
  500: status(500),
  empty: (response) => sse(response, chatWire([chunk({ content: '' }), chunk({}, 'stop')])),
  truncated: (response) => sse(response, chatWire([chunk({ content: 'Hel' })], '')),
  malformed: (response) => void response.end('<html>'),
  reset: (response) => void response.socket?.resetAndDestroy(),
  'broken off': breakOff,
  slow: () => undefined,
};

export const PROVOKED = Object.keys(ACTS);

const promptOf = (body: unknown): string =>
  String(asRecord(asArray(asRecord(body)?.messages).at(-1))?.content);

/** A provider of the chat protocol whose behaviour depends on the prompt and the credential. */
export const startPromptedUpstream = async () => {
  const state = {
    isDown: false,
    /** Undefined accepts every credential. */
    acceptedKey: undefined as string | undefined,
    prompts: [] as string[],
  };
  const handle = async (request: IncomingMessage, response: ServerResponse) => {
    const prompt = promptOf(await json(request));
    state.prompts.push(prompt);
    const { acceptedKey, isDown } = state;
    if (acceptedKey && request.headers.authorization !== `Bearer ${acceptedKey}`) {
      return status(401)(response);
    }
    return (isDown ? status(500) : (ACTS[prompt] ?? answer))(response);
  };
  const { url, close } = await listen(
    createServer((request, response) => {
      handle(request, response).catch(() => response.destroy());
    }),
  );
  return { url, close, state };
};
