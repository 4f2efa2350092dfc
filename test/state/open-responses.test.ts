import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { post, useRouter } from '../support/local.ts';
import { modelOn, targetAt } from '../support/models.ts';
import { faultsOfEvent, faultsOfResponse } from '../support/open-responses.ts';
import { type Json, parseJson, readSse } from '../support/sse-text.ts';
import { WIRES } from '../support/wires.ts';

/** The two cases of the specification's suite that need the state, judged by its schema. */
const CONVERSATION = 'a conversation by previous_response_id';
const RESULT = 'the result of a call of an earlier response';
const models = WIRES.map((protocol) =>
  modelOn([targetAt('https://upstream.example', { protocol, upstream: protocol })], {
    id: `state/${protocol}`,
  }),
);
const router = useRouter({ catalog: models, state: 'default' });

const WEATHER = {
  ...{ type: 'function', name: 'weather', description: 'The weather in a city' },
  parameters: { type: 'object', properties: { city: { type: 'string' } } },
};

/** The response, whose every event is valid, and which is stored as it was sent. */
const create = async (fields: Json): Promise<Json> => {
  const response = await post(router(), '/v1/responses', fields);
  const text = await response.text();
  expect([response.status, text.slice(0, 300)]).toEqual([200, expect.any(String)]);
  const events = fields.stream === true ? readSse(text).map(({ data }) => parseJson(data)) : [];
  expect(events.flatMap((event) => faultsOfEvent({ type: '', ...event }))).toEqual([]);
  const created = fields.stream === true ? (events.at(-1)?.response as Json) : parseJson(text);
  expect(faultsOfResponse(created)).toEqual([]);
  const query = '?include[]=reasoning.encrypted_content';
  const stored = await fetch(`${router().baseUrl}/v1/responses/${created.id}${query}`, {
    headers: { authorization: `Bearer ${router().key}` },
  });
  expect(await stored.json()).toEqual(created);
  return created;
};

describe.each(WIRES)('an upstream that speaks %s', (protocol) => {
  const model = `state/${protocol}`;

  test.each([false, true])(
    `Open Responses: ${CONVERSATION} is valid, streamed %s`,
    async (stream) => {
      const first = await create({ model, stream, input: 'think Hm.\nsay My name is Ada.' });
      const second = await create({
        ...{ model, stream, previous_response_id: first.id },
        input: [{ type: 'message', role: 'user', content: 'say Ada.' }],
      });
      expect(second).toMatchObject({ status: 'completed', previous_response_id: first.id });
    },
  );

  test.each([false, true])(`Open Responses: ${RESULT} is accepted, streamed %s`, async (stream) => {
    const fields = { model, stream, tools: [WEATHER] };
    const first = await create({ ...fields, input: 'call weather {"city":"Lisbon"}' });
    const call = (first.output as Json[]).find(({ type }) => type === 'function_call');
    const second = await create({
      ...{ ...fields, previous_response_id: first.id },
      input: [{ type: 'function_call_output', call_id: call?.call_id, output: 'sunny' }],
    });
    expect(JSON.stringify(second.output)).toContain('sunny');
  });
});

test('docs/clients.md lists both, on a model of each upstream protocol, and that compaction is not offered', async () => {
  const page = readFileSync(new URL('../../docs/clients.md', import.meta.url), 'utf8');
  const [, listed = ''] = page.split(`On models of ${WIRES.join(', ')}: `);
  for (const name of [CONVERSATION, RESULT]) {
    expect(listed.split('.\n')[0]?.split('; ')).toContain(name);
  }
  const path = '/v1/responses/compact';
  expect(page).toContain(`Compaction is not offered: \`${path}\` is a 404.`);
  expect((await post(router(), path, { model: 'state/chat' })).status).toBe(404);
});
