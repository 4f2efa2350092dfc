/** The provider of the bench, as a process: streams as many text events as the model's name asks for. */
import { createServer, type ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { listen } from '../../local/loopback.ts';

const EVENTS_PER_WRITE = 16;

const chunkOf = (delta: object, finish: string | null = null) =>
  `data: ${JSON.stringify({
    id: 'chatcmpl-1',
    object: 'chat.completion.chunk',
    created: 1,
    model: 'bench',
    choices: [{ index: 0, delta, finish_reason: finish }],
  })}\n\n`;
const USAGE = { prompt_tokens: 100, completion_tokens: 20, total_tokens: 120 };
const LAST = [
  chunkOf({}, 'stop'),
  `data: ${JSON.stringify({ id: 'chatcmpl-1', object: 'chat.completion.chunk', created: 1, model: 'bench', choices: [], usage: USAGE })}\n\n`,
  'data: [DONE]\n\n',
];

/** The messages of a stream of `events` texts. */
const streamOf = (events: number): string[] => [
  chunkOf({ role: 'assistant', content: '' }),
  ...Array.from({ length: events }, (_, index) => chunkOf({ content: ` word${index}` })),
  ...LAST,
];
const known = new Map<number, string[]>();

/** Each message is an HTTP chunk, as providers flush each token; at most 16 of them share a write. */
const send = async (response: ServerResponse, stream: string[]) => {
  for (let from = 0; from < stream.length; from += EVENTS_PER_WRITE) {
    response.cork();
    for (const message of stream.slice(from, from + EVENTS_PER_WRITE)) response.write(message);
    response.uncork();
    await nextTurn();
  }
  response.end();
};

const server = createServer({ noDelay: true }, async (request, response) => {
  const body = await text(request);
  const events = Number(/"bench\/(\d+)"/.exec(body)?.[1] ?? 1);
  const stream = known.get(events) ?? streamOf(events);
  known.set(events, stream);
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  await send(response, stream);
});
const { url } = await listen(server);
process.send?.({ url });
