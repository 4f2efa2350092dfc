import { createServer, type ServerResponse } from 'node:http';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { listen } from '../../local/loopback.ts';
import { type Fleet, startFleet } from '../support/fleet.ts';
import { post } from '../support/local.ts';
import { createManualClock } from '../support/manual-clock.ts';
import { modelOn, targetAt } from '../support/models.ts';
import { conversationOf, PATHS } from '../support/request-forms.ts';

/** What only a caller of messages is shown: the vendor searched, and said nothing. */
const SEARCH = { type: 'server_tool_use', id: 'srvtoolu_1', name: 'web_search', input: {} };
const MESSAGE = {
  ...{ id: 'msg_1', type: 'message', role: 'assistant', model: 'm', stop_reason: null },
  ...{ content: [], stop_sequence: null, usage: { input_tokens: 2, output_tokens: 1 } },
};
const END = { stop_reason: 'end_turn', stop_sequence: null };
const USAGE = { input_tokens: 2, output_tokens: 9 };

const EVENTS = [
  { type: 'message_start', message: MESSAGE },
  { type: 'content_block_start', index: 0, content_block: SEARCH },
  { type: 'content_block_stop', index: 0 },
  { type: 'message_delta', delta: END, usage: USAGE },
  { type: 'message_stop' },
];

const TEXT = { index: 0, message: { role: 'assistant', content: 'found' }, finish_reason: 'stop' };
const COMPLETION = { id: 'c', object: 'chat.completion', created: 1, model: 'm', choices: [TEXT] };
const CHUNK = { ...TEXT, delta: TEXT.message };
const CHUNKS = [{ ...COMPLETION, object: 'chat.completion.chunk', choices: [CHUNK] }];

const send = (response: ServerResponse, isStream: boolean, whole: object, events: object[]) => {
  if (!isStream) {
    response.setHeader('content-type', 'application/json').end(JSON.stringify(whole));
    return;
  }
  const text = events.map(
    (event) =>
      `${'type' in event ? `event: ${event.type}\n` : ''}data: ${JSON.stringify(event)}\n\n`,
  );
  response.setHeader('content-type', 'text/event-stream');
  response.end(`${text.join('')}${'type' in (events[0] ?? {}) ? '' : 'data: [DONE]\n\n'}`);
};

let upstream: Awaited<ReturnType<typeof listen>>;
let fleet: Fleet;
beforeAll(async () => {
  const server = createServer(async (request, response) => {
    const parts = await request.toArray();
    const { stream = false } = JSON.parse(Buffer.concat(parts).toString());
    if (request.url?.endsWith('/messages')) {
      send(response, stream, { ...MESSAGE, content: [SEARCH], ...END, usage: USAGE }, EVENTS);
    } else send(response, stream, COMPLETION, CHUNKS);
  });
  upstream = await listen(server);
  const searching = targetAt(`${upstream.url}/v1`, { protocol: 'messages', model: 'searching' });
  const models = [
    modelOn([searching], { id: 'test/alone' }),
    modelOn([searching, targetAt(`${upstream.url}/v1`, { model: 'saying' })], { id: 'test/two' }),
  ];
  fleet = await startFleet({ models, clock: createManualClock(Date.UTC(2026, 10, 21, 12)) });
});
afterAll(async () => {
  await fleet.close();
  await upstream.close();
});

const ask = async (family: keyof typeof PATHS, model: string, stream: boolean) => {
  const before = await fleet.charged();
  const turns = [{ role: 'user', content: 'hi' }];
  const body = { model, stream, ...conversationOf(family, turns) };
  const router = { baseUrl: fleet.urls[0] ?? '', key: fleet.key };
  const response = await post(router, PATHS[family], body);
  const text = await response.text();
  return { status: response.status, text, charged: (await fleet.charged()) - before };
};

const FORMS = [
  { form: 'whole', isStream: false },
  { form: 'streamed', isStream: true },
];

test.each(FORMS)(
  'a $form response of blocks that only messages has is empty, and free, to a caller of another protocol',
  async ({ isStream }) => {
    for (const family of ['chat', 'responses'] as const) {
      expect(await ask(family, 'test/alone', isStream)).toMatchObject({ status: 200, charged: 0 });
    }
    const shown = await ask('messages', 'test/alone', isStream);
    expect(shown).toMatchObject({ status: 200, charged: 1 });
    expect(shown.text).toContain('srvtoolu_1');
  },
);

test.each(FORMS)(
  'a $form response without a block for its caller is tried once more on the next target',
  async ({ isStream }) => {
    const answer = await ask('chat', 'test/two', isStream);
    expect(answer).toMatchObject({ status: 200, charged: 1 });
    expect(answer.text).toContain('"content":"found"');
  },
);
