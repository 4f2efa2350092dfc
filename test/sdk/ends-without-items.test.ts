import { createServer } from 'node:http';
import OpenAI from 'openai';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { systemClock } from '../../lambdas/support/clock.ts';
import { type Listening, listen } from '../../local/loopback.ts';
import { type Fleet, startFleet } from '../support/fleet.ts';
import { CANARIES } from '../support/leak-watch.ts';
import { modelOn, targetAt } from '../support/models.ts';
import { readSse } from '../support/sse-text.ts';
import { streamedResponses } from '../support/strict-upstream/responses-response.ts';

const SENT = readSse(
  streamedResponses(
    {
      ...{ thinking: { text: 'Hm.', signature: 's' }, text: 'Hello you', finish: 'tool-calls' },
      calls: [1, 2].map((at) => ({ id: `call_${at}`, name: 'read', arguments: `{"a":${at}}` })),
      usage: { input: 7, cached: 2, output: 3 },
    },
    { isWhole: false, isAscii: false, units: [4] },
  ),
).map(({ data }) => JSON.parse(data));

type Event = {
  type: string;
  item?: object | undefined;
  response?: { output?: object[] | undefined } | undefined;
};

const atTheEnd = (output: object[] | undefined) => (event: Event) =>
  event.type === 'response.completed'
    ? { ...event, response: { ...event.response, output } }
    : event;
/** A call that ends without the text that its deltas had. */
const withoutText = (item: object) => ({ ...item, arguments: undefined });
const isNoEnd = ({ type }: Event) => !type.endsWith('.done');

/** What a server of the Responses API sends instead. */
const SERVERS: Record<string, (events: Event[]) => Event[]> = {
  'an empty list at the end': (events) => events.map(atTheEnd([])),
  'no list at the end': (events) => events.map(atTheEnd(undefined)),
  'an empty list at the end, and no item that is done': (events) =>
    events.filter(isNoEnd).map(atTheEnd([])),
  'no arguments at the end': (events) =>
    events.map((event) => ({
      ...event,
      item: event.item && event.type.endsWith('.done') ? withoutText(event.item) : event.item,
      response: event.response && {
        ...event.response,
        output: event.response.output?.map(withoutText),
      },
    })),
};
/** A message that says nothing, and has no list for what it says. */
const BARE = { id: 'msg_bare', type: 'message', role: 'assistant', status: 'completed' };
const withBare = (events: Event[]) =>
  events.map((event) => atTheEnd([...(event.response?.output ?? []), BARE])(event));

const MODELS = [...Object.keys(SERVERS), 'bare'].map((_, index) => `ends/${index}`);

let upstream: Listening;
let fleet: Fleet;
beforeAll(async () => {
  upstream = await listen(
    createServer((request, response) => {
      const [, at = ''] = (request.url ?? '').split('/');
      const events = (Object.values(SERVERS)[Number(at)] ?? withBare)(SENT);
      request.resume().once('end', () => {
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        response.end(events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join(''));
      });
    }),
  );
  const models = MODELS.map((id, index) =>
    modelOn(
      [targetAt(`${upstream.url}/${index}`, { protocol: 'responses', upstream: `on-${index}` })],
      { id },
    ),
  );
  fleet = await startFleet({ models, clock: systemClock, secret: CANARIES.upstreamKey });
});
afterAll(async () => {
  await fleet.close();
  await upstream.close();
});

const connect = () =>
  new OpenAI({ baseURL: `${fleet.urls[0]}/v1`, apiKey: fleet.key, maxRetries: 0 });

const itemsOf = ({ output }: OpenAI.Responses.Response) =>
  output.map((item) => {
    if (item.type === 'reasoning') return item.summary.map(({ text }) => text).join('');
    if (item.type === 'function_call') return [item.call_id, item.name, item.arguments];
    return item.type === 'message' ? item.content.map((part) => 'text' in part && part.text) : item;
  });

test.each(Object.keys(SERVERS).map((server, index) => ({ server, model: MODELS[index] ?? '' })))(
  'the OpenAI SDK gets all items, whole and streamed, of a server that sends $server of a response',
  async ({ model }) => {
    const openai = connect();
    const whole = await openai.responses.create({ model, input: 'hi' });
    const streamed = await openai.responses.stream({ model, input: 'hi' }).finalResponse();
    for (const response of [whole, streamed]) {
      expect(response.output_text).toBe('Hello you');
      expect(itemsOf(response)).toEqual([
        'Hm.',
        ['Hello you'],
        ['call_1', 'read', '{"a":1}'],
        ['call_2', 'read', '{"a":2}'],
      ]);
    }
  },
);

test('the OpenAI SDK reads a whole response with a message that has no list of its parts', async () => {
  const model = MODELS.at(-1) ?? '';
  const { output, output_text } = await connect().responses.create({ model, input: 'hi' });
  expect(output_text).toBe('Hello you');
  expect(output.at(-1)).toEqual({ ...BARE, content: [] });
});
