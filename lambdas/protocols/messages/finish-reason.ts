import { omitUndefined } from '../../support/objects.ts';
import { asRecord, asString, type Json } from '../bytes/json.ts';
import type { FinishReason } from '../generation.ts';

const UNIFIED = new Map<string, FinishReason['unified']>([
  ['end_turn', 'stop'],
  ['stop_sequence', 'stop-sequence'],
  ['max_tokens', 'length'],
  ['tool_use', 'tool-calls'],
  ['pause_turn', 'stop'],
  ['refusal', 'content-filter'],
  ['model_context_window_exceeded', 'length'],
]);

const WIRE: Record<FinishReason['unified'], string> = {
  stop: 'end_turn',
  'stop-sequence': 'stop_sequence',
  length: 'max_tokens',
  'tool-calls': 'tool_use',
  'content-filter': 'refusal',
};

/** Reads the members that end a message; undefined if it has no `stop_reason` yet. */
export const decodeFinishReason = (wire: Json): FinishReason | undefined => {
  const word = asString(wire.stop_reason);
  if (word === undefined || word === '') return undefined;
  const unified = UNIFIED.get(word) ?? 'stop';
  return {
    unified,
    // Kept only if it is more specific than the canonical reason.
    ...(WIRE[unified] === word ? {} : { raw: { protocol: 'messages', value: word } }),
    ...omitUndefined({
      stopSequence: asString(wire.stop_sequence),
      container: asRecord(wire.container),
    }),
  };
};

/** The fields that end a message; the vendor's types require each, null if absent. */
export const encodeFinishReason = ({ unified, raw, stopSequence, container }: FinishReason) => ({
  container: container ?? null,
  stop_details: null,
  stop_reason: raw?.protocol === 'messages' ? raw.value : WIRE[unified],
  stop_sequence: stopSequence ?? null,
});
