import { expect, test } from 'vitest';
import { upstreamProtocols } from '../../../lambdas/protocols/protocols.ts';
import { type Json, parseJson, readSse } from '../../support/sse-text.ts';
import { decode, messagesWire, requestOf, translate, wholeFor } from '../../support/translate.ts';

/** Characters of one, two and four bytes before what is cited. */
const [BEFORE, CITED, AFTER] = ['In 𝒳 é: ', 'Köln', ' lies on the Rhine.'];
const TEXT = BEFORE + CITED + AFTER;
const PAGE = { url: 'https://example.com/a', title: 'A page' };
const bytes = (text: string) => Buffer.byteLength(text);

const block = (index: number, text: string, citation?: object) => [
  { type: 'content_block_start', index, content_block: { type: 'text', text: '' } },
  { type: 'content_block_delta', index, delta: { type: 'text_delta', text } },
  ...(citation
    ? [{ type: 'content_block_delta', index, delta: { type: 'citations_delta', citation } }]
    : []),
  { type: 'content_block_stop', index },
];
const FOUND = {
  type: 'web_search_result_location',
  cited_text: 'x',
  encrypted_index: 'e',
  ...PAGE,
};
/** Of a document of the request, which has no address. */
const IN_DOCUMENT = { type: 'char_location', cited_text: 'x', document_index: 0 };

const annotation = {
  ...{ type: 'url_citation', ...PAGE },
  ...{ start_index: BEFORE.length, end_index: BEFORE.length + CITED.length },
};
const ITEM = {
  ...{ id: 'msg_1', type: 'message', role: 'assistant', status: 'completed' },
  content: [{ type: 'output_text', text: TEXT, annotations: [annotation] }],
};

const piece = (text: string, more: object = {}) =>
  `data: ${JSON.stringify({ candidates: [{ content: { parts: [{ text }] }, ...more }] })}\n\n`;
const SEGMENT = { startIndex: bytes(BEFORE), endIndex: bytes(BEFORE + CITED), text: CITED };

/** Streams of a text whose middle cites a page, as each vendor's search states it. */
const STREAMS = {
  messages: messagesWire([
    { type: 'message_start', message: { id: 'm', usage: { input_tokens: 1, output_tokens: 1 } } },
    ...block(0, BEFORE, IN_DOCUMENT),
    ...block(1, CITED, FOUND),
    ...block(2, AFTER),
    { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 9 } },
    { type: 'message_stop' },
  ]),
  responses: messagesWire([
    { type: 'response.created', response: { id: 'r', object: 'response', output: [] } },
    { type: 'response.output_text.delta', output_index: 0, content_index: 0, delta: TEXT },
    { type: 'response.output_item.done', output_index: 0, item: ITEM },
    { type: 'response.completed', response: { status: 'completed', output: [ITEM] } },
  ]),
  gemini:
    piece(BEFORE) +
    piece(CITED) +
    piece(AFTER, {
      finishReason: 'STOP',
      groundingMetadata: {
        groundingChunks: [{ web: { uri: PAGE.url, title: PAGE.title } }],
        groundingSupports: [{ segment: SEGMENT, groundingChunkIndices: [0, 7] }],
      },
    }),
};

const expectCited = (text: unknown, annotations: unknown) => {
  expect(text).toBe(TEXT);
  const [start_index, end_index] = [BEFORE.length, BEFORE.length + CITED.length];
  const url_citation = { ...PAGE, start_index, end_index };
  expect(annotations).toEqual([{ type: 'url_citation', url_citation }]);
};

test.each(Object.keys(STREAMS) as (keyof typeof STREAMS)[])(
  'a page that a %s upstream cites is an annotation of its place for a chat caller, streamed and whole',
  async (from) => {
    const told = await translate(from, 'chat', STREAMS[from], { sizes: [7] });
    const deltas = readSse(told)
      .filter(({ data }) => data !== '[DONE]')
      .flatMap(({ data }) => parseJson(data).choices as { delta: Json }[])
      .map(({ delta }) => delta);
    expectCited(
      deltas.map(({ content }) => content ?? '').join(''),
      deltas.flatMap(({ annotations = [] }) => annotations),
    );
    const request = requestOf('chat', { stream: false });
    const { events } = await decode(upstreamProtocols[from], STREAMS[from], request);
    const whole = parseJson(await wholeFor('chat', events, request));
    const [{ message } = { message: {} as Json }] = whole.choices as { message: Json }[];
    expectCited(message.content, message.annotations);
  },
);

const OTHER = { uri: 'https://example.com/other', title: 'Other' };
const FIRST = [{ web: { uri: PAGE.url, title: PAGE.title } }];
/** A message of Gemini with its sources, and a support that is the same in all of them. */
const grounded = (groundingChunks: object[], ...indices: number[][]) => ({
  groundingMetadata: {
    groundingChunks,
    groundingSupports: indices.map((groundingChunkIndices) => ({
      ...{ segment: SEGMENT, groundingChunkIndices },
    })),
  },
});

test.each([
  ['the sources that are new in it', [{ web: OTHER }]],
  ['all sources so far', [...FIRST, { web: OTHER }]],
])('a Gemini stream whose every message has %s keeps the citations of all', async (_, sources) => {
  const stream =
    piece(BEFORE, grounded(FIRST, [0])) +
    piece(CITED, grounded(sources, [0], [1])) +
    piece(AFTER, { finishReason: 'STOP' });
  const request = requestOf('chat', { stream: false });
  const { events } = await decode(upstreamProtocols.gemini, stream, request);
  const whole = parseJson(await wholeFor('chat', events, request));
  const [{ message } = { message: {} as Json }] = whole.choices as { message: Json }[];
  const cited = message.annotations as { url_citation: { url: string } }[];
  expect(cited.map(({ url_citation }) => url_citation.url)).toEqual([PAGE.url, OTHER.uri]);
});
