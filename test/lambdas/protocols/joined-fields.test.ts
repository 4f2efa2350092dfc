import { expect, test } from 'vitest';
import { upstreamProtocols } from '../../../lambdas/protocols/protocols.ts';
import { chatWire, decode, requestOf, wholeFor } from '../../support/translate.ts';

type Json = Record<string, unknown>;

const chunk = (delta: Json, finish: string | null = null) => ({
  ...{ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'm' },
  choices: [{ index: 0, delta, finish_reason: finish }],
});

/** What callers get of a whole message's members that only chat has, when a provider streams them in pieces. */
const joined = async (...deltas: Json[]): Promise<Json> => {
  const chunks = [{ role: 'assistant', content: 'Hi' }, ...deltas].map((delta) => chunk(delta));
  const request = requestOf('chat', { stream: false });
  const wire = chatWire([...chunks, chunk({}, 'stop')]);
  const { events } = await decode(upstreamProtocols.chat, wire, request);
  const whole = JSON.parse(await wholeFor('chat', events, request));
  const { role: _, content: __, refusal: ___, ...rest } = whole.choices[0].message;
  return rest;
};

const details = (...lists: unknown[]) =>
  joined(...lists.map((reasoning_details) => ({ reasoning_details })));

test.each<[what: string, lists: unknown[][], expected: unknown[]]>([
  [
    'of one index and type are one item with the texts of both',
    [
      [{ index: 0, type: 'reasoning.text', text: 'a', id: 'r' }],
      [{ index: 0, type: 'reasoning.text', text: 'b', signature: 's' }],
    ],
    [{ index: 0, type: 'reasoning.text', text: 'ab', id: 'r', signature: 's' }],
  ],
  [
    'with a member that is not text take the later one',
    [[{ index: 0, text: 'a', summary: 1 }], [{ index: 0, summary: 's', data: 'd' }]],
    [{ index: 0, text: 'a', summary: 's', data: 'd' }],
  ],
  [
    'with summaries, data and signatures join each',
    [
      [{ index: 0, summary: 'a', data: 'c', signature: 'e' }],
      [{ index: 0, summary: 'b', data: 'd', signature: 'f' }],
    ],
    [{ index: 0, summary: 'ab', data: 'cd', signature: 'ef' }],
  ],
  [
    'of another index stay apart',
    [[{ index: 0, text: 'a' }], [{ index: 1, text: 'b' }]],
    [
      { index: 0, text: 'a' },
      { index: 1, text: 'b' },
    ],
  ],
  [
    'of another type stay apart',
    [[{ index: 0, type: 'a', text: 'a' }], [{ index: 0, type: 'b', text: 'b' }]],
    [
      { index: 0, type: 'a', text: 'a' },
      { index: 0, type: 'b', text: 'b' },
    ],
  ],
  [
    'without an index stay apart',
    [[{ text: 'a' }], [{ text: 'b' }]],
    [{ text: 'a' }, { text: 'b' }],
  ],
  [
    'that are no objects stay apart',
    [['a'], ['b', { index: 0 }], ['c']],
    ['a', 'b', { index: 0 }, 'c'],
  ],
])('items of a list in a chat stream that is collected %s', async (_, lists, expected) => {
  expect(await details(...lists)).toEqual({ reasoning_details: expected });
});

test('a member of a collected chat stream that comes as null later keeps its value, and objects are merged', async () => {
  expect(await joined({ note: null }, { note: 'a' }, { note: null })).toEqual({ note: 'a' });
  expect(await joined({ meta: { a: 1, b: 1 } }, { meta: { b: 2 } })).toEqual({
    meta: { a: 1, b: 2 },
  });
  expect(await joined({ note: 'a' }, { note: 'b' })).toEqual({ note: 'b' });
  expect(await joined({ list: [1] }, { list: 'b' })).toEqual({ list: 'b' });
});

test('two ids of tool calls whose short forms would be equal get different ones', () => {
  // The second becomes the first, which is taken; with a salt it is what the third becomes.
  const given = ['8OUPrhCTK', 'call_0fypS1hVX', 'call_0fypS1hVX+'];
  const tool_calls = given.map((id) => ({
    ...{ id, type: 'function' },
    function: { name: 'f', arguments: '{}' },
  }));
  const request = requestOf('chat', { messages: [{ role: 'assistant', tool_calls }] });
  const target = { model: 'm', maxOutputTokens: 1000, toolCallIds: 'short' as const };
  const { messages } = upstreamProtocols.chat.encodeRequest(request, target) as {
    messages: { tool_calls: { id: string }[] }[];
  };
  expect(new Set(messages[0]?.tool_calls.map(({ id }) => id)).size).toBe(3);
});
