import { omitUndefined } from '../../support/omit-undefined.ts';
import { asArray, asRecord, asString, type Json } from '../bytes/json.ts';
import type { Extras, FinishReason } from '../generation.ts';
import { extraFieldsFor, extrasIfAny } from '../ledger/extras.ts';
import { NAME } from './name.ts';

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

const transformationsOf = ({ input_transformations: found }: Json) => found && asArray(found);

/** What only this protocol states at the start of a message: its cache, and the changes of its input. */
export const startMembersOf = (wire: Json): { extras?: Extras } =>
  extrasIfAny(NAME, {
    diagnostics: asRecord(wire.diagnostics),
    input_transformations: transformationsOf(wire),
  });

/**
 * Reads the members that end a message; undefined if it has no `stop_reason` yet. A container is read here and not
 * at the start, with its time of expiry.
 */
export const decodeFinishReason = (wire: Json): FinishReason | undefined => {
  const word = asString(wire.stop_reason);
  if (word === undefined || word === '') return undefined;
  const unified = UNIFIED.get(word) ?? 'stop';
  return {
    unified,
    // Kept only if it is more specific than the canonical reason.
    ...(WIRE[unified] === word ? {} : { raw: { protocol: NAME, value: word } }),
    ...omitUndefined({ stopSequence: asString(wire.stop_sequence) }),
    ...extrasIfAny(NAME, {
      stop_details: asRecord(wire.stop_details),
      container: asRecord(wire.container),
      context_management: asRecord(wire.context_management),
      input_transformations: transformationsOf(wire),
    }),
  };
};

/** The fields that end a message; the vendor's types require each, null if absent. */
export const encodeFinishReason = ({ unified, raw, stopSequence, extras }: FinishReason): Json => ({
  container: null,
  stop_details: null,
  ...extraFieldsFor(NAME, extras),
  stop_reason: raw?.protocol === NAME ? raw.value : WIRE[unified],
  stop_sequence: stopSequence ?? null,
});
