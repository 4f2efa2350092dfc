/** The provider of the bench, as a process: its chat responses have as many texts as the model's name asks for. */
import { createServer, type ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { setTimeout as delay, setImmediate as nextTurn } from 'node:timers/promises';
import { listen } from '../../local/loopback.ts';

const EVENTS_PER_WRITE = 16;

const BASE = { id: 'chatcmpl-1', created: 1, model: 'bench' };
const USAGE = { prompt_tokens: 100, completion_tokens: 20, total_tokens: 120 };

const eventOf = (rest: object) =>
  `data: ${JSON.stringify({ ...BASE, object: 'chat.completion.chunk', ...rest })}\n\n`;
const chunkOf = (delta: object, finish: string | null = null) =>
  eventOf({ choices: [{ index: 0, delta, finish_reason: finish }] });

const textsOf = (events: number) => Array.from({ length: events }, (_, index) => ` word${index}`);

/** The messages of a stream of `events` texts. */
const streamOf = (events: number): string[] => [
  chunkOf({ role: 'assistant', content: '' }),
  ...textsOf(events).map((content) => chunkOf({ content })),
  chunkOf({}, 'stop'),
  eventOf({ choices: [], usage: USAGE }),
  'data: [DONE]\n\n',
];

/** The same texts as a whole response. */
const wholeOf = (events: number): string => {
  const message = { role: 'assistant', content: textsOf(events).join('') };
  const choices = [{ index: 0, message, finish_reason: 'stop' }];
  return JSON.stringify({ ...BASE, object: 'chat.completion', choices, usage: USAGE });
};

/** Each message is an HTTP chunk, as providers flush each token; at most 16 of them share a write. */
const send = async (response: ServerResponse, stream: string[], pauseMs: number) => {
  const step = pauseMs > 0 ? 1 : EVENTS_PER_WRITE;
  for (let from = 0; from < stream.length; from += step) {
    response.cork();
    for (const message of stream.slice(from, from + step)) response.write(message);
    response.uncork();
    await (pauseMs > 0 ? delay(pauseMs) : nextTurn());
  }
  response.end();
};

/** Makes the response of a size once. */
const once = <Result>(make: (events: number) => Result) => {
  const known = new Map<number, Result>();
  return (events: number): Result => {
    const result = known.get(events) ?? make(events);
    known.set(events, result);
    return result;
  };
};
const knownStream = once(streamOf);
const knownWhole = once(wholeOf);

const server = createServer({ noDelay: true }, async (request, response) => {
  const body = await text(request);
  const [, events = '1', pauseMs = '0'] = /"bench\/(\d+)(?:\/(\d+))?"/.exec(body) ?? [];
  if (!body.includes('"stream":true')) {
    response.writeHead(200, { 'content-type': 'application/json' }).end(knownWhole(Number(events)));
    return;
  }
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  await send(response, knownStream(Number(events)), Number(pauseMs));
});
const { url } = await listen(server);
process.send?.({ url });
