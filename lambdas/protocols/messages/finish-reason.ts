import { isEmpty, omitUndefined } from '../../support/omit-undefined.ts';
import { asArray, asRecord, asString, type Json } from '../bytes/json.ts';
import type { Extras, FinishReason } from '../generation.ts';
import { extraFieldsFor, extrasIfAny, membersBeyond } from '../ledger/extras.ts';
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

/** Members of the end of a message, and those that have a canonical form or are the router's. */
const ENDING = ['stop_reason', 'stop_sequence', 'stop_details', 'container', 'context_management'];
const CANONICAL = ['id', 'type', 'role', 'model', 'content', 'usage', ...ENDING];

/** What only this protocol states at the start of a message, e.g. its cache and the changes of its input. */
export const startMembersOf = (wire: Json): { extras?: Extras } =>
  extrasIfAny(NAME, {
    ...membersBeyond(wire, CANONICAL),
    diagnostics: asRecord(wire.diagnostics),
    input_transformations: transformationsOf(wire),
  });

/**
 * Reads the members that end a message; undefined if it has no `stop_reason` yet. A container is read here and not
 * at the start, with its time of expiry. `adjacent`: members next to them that only this protocol has.
 */
export const decodeFinishReason = (wire: Json, adjacent: Json = {}): FinishReason | undefined => {
  const word = asString(wire.stop_reason);
  if (word === undefined || word === '') return undefined;
  const unified = UNIFIED.get(word) ?? 'stop';
  return {
    unified,
    // Kept only if it is more specific than the canonical reason.
    ...(WIRE[unified] === word ? {} : { raw: { protocol: NAME, value: word } }),
    ...omitUndefined({ stopSequence: asString(wire.stop_sequence) }),
    ...extrasIfAny(NAME, {
      ...membersBeyond(wire, CANONICAL),
      adjacent: isEmpty(adjacent) ? undefined : adjacent,
      stop_details: asRecord(wire.stop_details),
      container: asRecord(wire.container),
      context_management: asRecord(wire.context_management),
      input_transformations: transformationsOf(wire),
    }),
  };
};

/** The reason with the members of the stream's last event. */
export const withStop = (reason: FinishReason, stop: Json): FinishReason =>
  isEmpty(stop)
    ? reason
    : { ...reason, extras: { protocol: NAME, fields: { ...reason.extras?.fields, stop } } };

/**
 * The fields that end a message; the vendor's types require each, null if absent. In a stream `adjacent` is next to the
 * others, and `stop` in the event behind them.
 */
export const encodeFinishReason = ({ unified, raw, stopSequence, extras }: FinishReason) => {
  const { adjacent, stop, ...fields } = extraFieldsFor(NAME, extras);
  const ending: Json = {
    container: null,
    stop_details: null,
    ...fields,
    stop_reason: raw?.protocol === NAME ? raw.value : WIRE[unified],
    stop_sequence: stopSequence ?? null,
  };
  return { ending, adjacent: asRecord(adjacent) ?? {}, stop: asRecord(stop) ?? {} };
};
