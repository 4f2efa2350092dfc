import { omitUndefined } from '../../support/objects.ts';
import { asArray, asRecord, type Json } from '../bytes/json.ts';

const eventsOfBlock = (block: Json, index: number): Json[] => {
  const { type, text, thinking, input } = block;
  const append = (delta: Json) => ({ type: 'content_block_delta', index, delta });
  const start = (own: Json) => ({
    type: 'content_block_start',
    index,
    content_block: { ...block, ...own },
  });
  const stop = { type: 'content_block_stop', index };
  if (type === 'text') return [start({ text: '' }), append({ type: 'text_delta', text }), stop];
  if (type === 'thinking') {
    return [start({ thinking: '' }), append({ type: 'thinking_delta', thinking }), stop];
  }
  if (type !== 'tool_use' || asRecord(input) === undefined) return [start({}), stop];
  const fragment = { type: 'input_json_delta', partial_json: JSON.stringify(input) };
  return [start({ input: {} }), append(fragment), stop];
};

/** The events of a whole message, for a caller of the protocol who asked for a stream. */
export const messageAsEvents = (wire: Json): Json[] => {
  const { stop_reason, stop_sequence, stop_details, container, context_management, ...message } =
    wire;
  const delta = omitUndefined({ stop_reason, stop_sequence, stop_details, container });
  const begun = { ...message, content: [], stop_reason: null, stop_sequence: null };
  return [
    { type: 'message_start', message: begun },
    ...asArray(wire.content).flatMap((block, index) => eventsOfBlock(asRecord(block) ?? {}, index)),
    { type: 'message_delta', delta, context_management, usage: wire.usage },
    { type: 'message_stop' },
  ];
};
