import { MESSAGE_START, messagesEvent } from '../../support/messages-events.ts';
import { CREATED_AT } from '../../support/strict-upstream/responses-response.ts';
import type { Wire as WireName } from '../../support/wires.ts';

/** How far an answer has come when its upstream stops to send it. */
export type Phase =
  /** No part of the answer is shown. */
  | 'nothing'
  /** A part is shown, no finish reason. */
  | 'content'
  /** The finish reason came, the last event did not. */
  | 'finished'
  | 'complete';

/** One event of an answer; `reaches` is the phase after it. */
type Step = { name: string; bytes: string; reaches: Phase };

export type Wire = { ping: string; answers: Record<'text' | 'empty', Step[]> };

const step = (name: string, reaches: Phase, bytes: string): Step => ({ name, reaches, bytes });

const messageStart = step('message_start', 'nothing', MESSAGE_START);
const messageEnd = [
  step(
    'message_delta',
    'finished',
    messagesEvent('message_delta', {
      delta: { stop_reason: 'end_turn', stop_sequence: null },
      usage: { output_tokens: 2 },
    }),
  ),
  step('message_stop', 'complete', messagesEvent('message_stop', {})),
];
const blockDelta = (text: string) =>
  messagesEvent('content_block_delta', { index: 0, delta: { type: 'text_delta', text } });

const MESSAGES: Wire = {
  ping: messagesEvent('ping', {}),
  answers: {
    text: [
      messageStart,
      step(
        'content_block_start',
        'nothing',
        messagesEvent('content_block_start', {
          index: 0,
          content_block: { type: 'text', text: '' },
        }),
      ),
      step('first content_block_delta', 'content', blockDelta('Hello')),
      step('second content_block_delta', 'content', blockDelta(' you')),
      step('content_block_stop', 'content', messagesEvent('content_block_stop', { index: 0 })),
      ...messageEnd,
    ],
    empty: [messageStart, ...messageEnd],
  },
};

const chunk = (fields: object) =>
  `data: ${JSON.stringify({ id: 'chatcmpl-1', object: 'chat.completion.chunk', created: 1, model: 'm', ...fields })}\n\n`;
const delta = (part: object, finish: string | null = null) =>
  chunk({ choices: [{ index: 0, delta: part, finish_reason: finish }] });

const role = step('role chunk', 'nothing', delta({ role: 'assistant', content: '' }));
const chatEnd = [
  step('finish chunk', 'finished', delta({}, 'stop')),
  step(
    'usage chunk',
    'finished',
    chunk({ choices: [], usage: { prompt_tokens: 5, completion_tokens: 2, total_tokens: 7 } }),
  ),
  step('[DONE]', 'complete', 'data: [DONE]\n\n'),
];

const CHAT: Wire = {
  ping: ': keep-alive\n\n',
  answers: {
    text: [
      role,
      step('first content chunk', 'content', delta({ content: 'Hello' })),
      step('second content chunk', 'content', delta({ content: ' you' })),
      ...chatEnd,
    ],
    empty: [role, ...chatEnd],
  },
};

const RESPONSE = { id: 'resp_1', object: 'response', created_at: CREATED_AT };
const ITEM = { id: 'msg_1', type: 'message', role: 'assistant' };
const PLACE = { item_id: 'msg_1', output_index: 0, content_index: 0 };
const partOf = (text: string) => ({ type: 'output_text', text, annotations: [], logprobs: [] });
const DONE = { ...ITEM, status: 'completed', content: [partOf('Hello you')] };

/** The events of a response of the Responses API, whose end alone states that it is whole, and why it ended. */
const responsesSteps = (output: object[], inside: [string, Phase, object][]): Step[] =>
  [
    ...['created', 'in_progress'].map((name): [string, Phase, object] => {
      return [name, 'nothing', { response: { ...RESPONSE, status: 'in_progress', output: [] } }];
    }),
    ...inside,
    ['completed', 'complete', { response: { ...RESPONSE, status: 'completed', output } }] as const,
  ].map(([name, reaches, fields], sequence_number) => {
    const type = `response.${name}`;
    return step(name, reaches, messagesEvent(type, { ...fields, sequence_number }));
  });

const RESPONSES: Wire = {
  ping: ': keep-alive\n\n',
  answers: {
    text: responsesSteps(
      [DONE],
      [
        ['output_item.added', 'nothing', { output_index: 0, item: { ...ITEM, content: [] } }],
        ['content_part.added', 'nothing', { ...PLACE, part: partOf('') }],
        ['output_text.delta', 'content', { ...PLACE, delta: 'Hello' }],
        ['output_text.delta', 'content', { ...PLACE, delta: ' you' }],
        ['output_text.done', 'content', { ...PLACE, text: 'Hello you' }],
        ['content_part.done', 'content', { ...PLACE, part: partOf('Hello you') }],
        ['output_item.done', 'content', { output_index: 0, item: DONE }],
      ],
    ),
    empty: responsesSteps([], []),
  },
};

const piece = (text: string, more: object = {}) =>
  `data: ${JSON.stringify({ candidates: [{ content: { role: 'model', parts: text ? [{ text }] : [] }, ...more }] })}\n\n`;
/** The end of the bytes is the only end behind it. */
const geminiEnd = step('finishReason', 'finished', piece('', { finishReason: 'STOP' }));

const GEMINI: Wire = {
  ping: ': keep-alive\n\n',
  answers: {
    text: [
      step('first piece', 'content', piece('Hello')),
      step('second piece', 'content', piece(' you')),
      geminiEnd,
    ],
    empty: [geminiEnd],
  },
};

export const WIRES: Record<WireName, Wire> = {
  ...{ chat: CHAT, messages: MESSAGES },
  ...{ responses: RESPONSES, gemini: GEMINI },
};
