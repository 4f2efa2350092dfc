import type { CallerProtocolName } from '../../lambdas/protocols/protocol.ts';
import { fc } from '../support/seeds.ts';
import type { Sample } from './corpus.ts';
import { type JsonMutation, jsonMutation, mutateJson } from './mutate-json.ts';

/** A report names a sample and leaves its text out. */
export const named = (of: Sample): { name: string; readonly of: Sample } =>
  Object.defineProperty({ name: of.name, of }, 'of', { enumerable: false });

export const pick = (samples: Sample[]) => fc.constantFrom(...samples).map(named);

/** No change in `10 - weight` of ten inputs, else up to three. */
export const some = <T>(weight: number, arbitrary: fc.Arbitrary<T>): fc.Arbitrary<T[]> =>
  fc.oneof(
    { weight: 10 - weight, arbitrary: fc.constant<T[]>([]) },
    { weight, arbitrary: fc.array(arbitrary, { minLength: 1, maxLength: 3 }) },
  );

/** Changes within the JSON of one event of a stream. */
export type EventMutation = { event: number; json: JsonMutation };

export const eventMutations: fc.Arbitrary<EventMutation> = fc.record({
  event: fc.nat(999),
  json: jsonMutation,
});

/** The stream after the changes; its frame stays as it is. */
export const mutateEvents = (stream: string, mutations: EventMutation[]): string => {
  const lines = stream.split('\n');
  const told = [...lines.keys()].filter((at) => lines[at]?.startsWith('data: {'));
  for (const { event, json } of mutations) {
    const at = told[event % told.length];
    const text = at === undefined ? undefined : lines[at]?.slice('data: '.length);
    if (at !== undefined && text !== undefined) lines[at] = `data: ${mutateJson(text, [json])}`;
  }
  return lines.join('\n');
};

const STOPS = ['end_turn', 'stop_sequence', 'max_tokens', 'tool_use', 'pause_turn', 'refusal'];
const UNKNOWN_STOP = new RegExp(
  `("stop_reason":\\s*")(?!(?:${STOPS.join('|')})")(?:[^"\\\\]|\\\\.)+"`,
  'g',
);

/** The same bytes without stop reasons of nobody: those go on as they are, and no checker knows them. */
export const withKnownStops = (wire: Uint8Array): Uint8Array =>
  Buffer.from(Buffer.from(wire).toString('latin1').replace(UNKNOWN_STOP, '$1end_turn"'), 'latin1');

const RIDING =
  /logprobs|caller|stop_details|server_tool|citation|container|compaction|from_the_future|extra_content/;

/** The family to ask in: what rides along to callers of its own family keeps whatever shape it has. */
export const familyFor = (
  { wire, text }: Sample,
  wished: CallerProtocolName,
): CallerProtocolName => {
  // A response is sent as it was received; the laws of streams hold what is put right in one.
  if (wire === 'responses' && wished === wire) return 'chat';
  if (wire !== wished || !RIDING.test(text)) return wished;
  return wire === 'chat' ? 'messages' : 'chat';
};
