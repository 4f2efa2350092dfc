import { cutUnits, type Meant, toJson, type WireForm } from './wire-response.ts';

/** Answers of the messages protocol, in the sequence of events that its vendor documents. */
const STOPS = { stop: 'end_turn', length: 'max_tokens', 'tool-calls': 'tool_use' };

/** `input_tokens` leaves out what was read from the cache and written to it. */
const inputOf = ({ usage: { input, cached, written5m = 0, written1h = 0 } }: Meant) => ({
  input_tokens: input - cached - written5m - written1h,
  cache_creation_input_tokens: written5m + written1h,
  cache_read_input_tokens: cached,
  cache_creation: {
    ephemeral_5m_input_tokens: written5m,
    ephemeral_1h_input_tokens: written1h,
  },
});

const MESSAGE = {
  id: 'msg_1nZdL29xx5MUA1yADyHTEsnR8uuvGzszyY',
  type: 'message',
  role: 'assistant',
};

export const wholeMessages = (meant: Meant, form: WireForm): string => {
  const { thinking } = meant;
  const content = [
    ...(thinking === undefined
      ? []
      : [{ type: 'thinking', thinking: thinking.text, signature: thinking.signature }]),
    ...(meant.text === '' ? [] : [{ type: 'text', text: meant.text }]),
    ...meant.calls.map(({ id, name, arguments: input }) => ({
      type: 'tool_use',
      id,
      name,
      input: JSON.parse(input),
    })),
  ];
  const end = { stop_reason: STOPS[meant.finish], stop_sequence: null };
  const usage = { ...inputOf(meant), output_tokens: meant.usage.output };
  return toJson({ ...MESSAGE, model: 'm', content, ...end, usage }, form);
};

export const streamedMessages = (meant: Meant, form: WireForm): string => {
  const event = (type: string, fields: object) =>
    `event: ${type}\ndata: ${toJson({ type, ...fields }, form)}\n\n`;
  const { thinking } = meant;
  const blocks = [
    ...(thinking === undefined
      ? []
      : [
          {
            head: { type: 'thinking', thinking: '', signature: '' },
            deltas: [
              ...cutUnits(thinking.text, form.units).map((text) => ({
                type: 'thinking_delta',
                thinking: text,
              })),
              { type: 'signature_delta', signature: thinking.signature },
            ],
          },
        ]),
    ...(meant.text === ''
      ? []
      : [
          {
            head: { type: 'text', text: '' },
            deltas: cutUnits(meant.text, form.units).map((text) => ({ type: 'text_delta', text })),
          },
        ]),
    ...meant.calls.map(({ id, name, arguments: text }) => ({
      head: { type: 'tool_use', id, name, input: {} },
      deltas: ['', ...cutUnits(text, form.units)].map((piece) => ({
        type: 'input_json_delta',
        partial_json: piece,
      })),
    })),
  ];
  const opened = {
    ...MESSAGE,
    model: 'm',
    content: [],
    stop_reason: null,
    stop_sequence: null,
    usage: { ...inputOf(meant), output_tokens: 1 },
  };
  return [
    event('message_start', { message: opened }),
    ...blocks.flatMap(({ head, deltas }, index) => [
      event('content_block_start', { index, content_block: head }),
      ...(index === 0 ? [event('ping', {})] : []),
      ...deltas.map((delta) => event('content_block_delta', { index, delta })),
      event('content_block_stop', { index }),
    ]),
    event('message_delta', {
      delta: { stop_reason: STOPS[meant.finish], stop_sequence: null },
      usage: { output_tokens: meant.usage.output },
    }),
    event('message_stop', {}),
  ].join('');
};
