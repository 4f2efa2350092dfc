import { asArray, asNumber, asRecord, type Json } from '../bytes/json.ts';
import type { EventOf, GenerationEvent, Usage } from '../generation.ts';

/** Reads one choice, whole (`message`) or in parts (`delta`). */
export type ChoiceReader = {
  hasReason(): boolean;
  isFinished(): boolean;
  /** `usage`: the counts that the response has stated so far. */
  read(choice: Json, usage?: Usage): void;
  /** @throws UpstreamError when the choice has no finish reason, which `last` may explain, or a call that cannot be used. */
  finish(usage: Usage | undefined, last?: Json): void;
  /** The events written since the last call. */
  drain(): GenerationEvent[];
};

/** Reads all choices of a response. */
export type ChoicesReader = Omit<ChoiceReader, 'read'> & {
  read(wire: Json, usage?: Usage): void;
};

const isFinish = (event: GenerationEvent): event is EventOf<'finish'> => event.type === 'finish';

/** One finish for all choices, after the events that end their blocks. */
const mergeFinishes = (events: GenerationEvent[]): GenerationEvent[] => {
  const [first, ...later] = events.filter(isFinish);
  const ends = events.filter((event) => !isFinish(event));
  if (!first) return ends;
  const { isEmpty, ...finish } = first;
  const isAllEmpty = isEmpty && later.every((one) => one.isEmpty);
  const others = later.map(({ reason }) => reason);
  return [...ends, { ...finish, others, ...(isAllEmpty && { isEmpty }) }];
};

/** Reads a response of several choices, whose chunks may interleave; their readers write to one output. */
export const createSeveralChoices = (readers: ChoiceReader[]): ChoicesReader => {
  /** How many choices have begun; upstreams that ignore `n` send one. */
  let begun = 1;
  return {
    hasReason: () => readers.every((reader) => reader.hasReason()),
    isFinished: () => readers.some((reader) => reader.isFinished()),
    read: (wire) => {
      for (const one of asArray(wire.choices)) {
        const choice = asRecord(one) ?? {};
        const index = asNumber(choice.index) ?? -1;
        if (readers[index]) begun = Math.max(begun, index + 1);
        readers[index]?.read(choice);
      }
    },
    finish: (usage, last) => {
      for (const reader of readers.slice(0, begun)) reader.finish(usage, last);
    },
    drain: () => mergeFinishes(readers[0]?.drain() ?? []),
  };
};
