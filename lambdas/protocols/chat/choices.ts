import { asArray, asNumber, asRecord, type Json } from '../bytes/json.ts';
import type { EventOf, GenerationEvent, Usage } from '../generation.ts';

/** Reads one choice, whole (`message`) or in parts (`delta`). */
export type ChoiceReader = {
  hasReason(): boolean;
  isFinished(): boolean;
  read(choice: Json): void;
  /** @throws UpstreamError when the choice has no finish reason, or a call that cannot be used. */
  finish(usage: Usage | undefined): void;
  /** The events written since the last call. */
  drain(): GenerationEvent[];
};

/** Reads all choices of a response. */
export type ChoicesReader = Pick<ChoiceReader, 'hasReason' | 'isFinished'> & {
  read(wire: Json): GenerationEvent[];
  /** @throws UpstreamError as that of a choice. */
  finish(usage: Usage | undefined): GenerationEvent[];
};

const isFinish = (event: GenerationEvent): event is EventOf<'finish'> => event.type === 'finish';

/** Numbers the blocks of all choices in the order of their start; the response starts once. */
const createMerger = () => {
  const indices = new Map<string, number>();
  let started = false;
  return (choice: number, events: GenerationEvent[]): GenerationEvent[] =>
    events.flatMap((event): GenerationEvent[] => {
      if (event.type === 'start') {
        const isFirst = !started;
        started = true;
        return isFirst ? [event] : [];
      }
      if (!('index' in event)) return [event];
      const key = `${choice}:${event.index}`;
      if (event.type !== 'block-start') return [{ ...event, index: indices.get(key) ?? 0 }];
      const index = indices.size;
      indices.set(key, index);
      return [{ ...event, index, ...(choice > 0 && { choice }) }];
    });
};

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

/** Reads a response of several choices, whose chunks may interleave. */
export const createSeveralChoices = (readers: ChoiceReader[]): ChoicesReader => {
  const merge = createMerger();
  /** How many choices have begun; upstreams that ignore `n` send one. */
  let begun = 1;
  const readChoice = (choice: Json): GenerationEvent[] => {
    const index = asNumber(choice.index) ?? -1;
    const reader = readers[index];
    if (!reader) return [];
    begun = Math.max(begun, index + 1);
    reader.read(choice);
    return merge(index, reader.drain());
  };
  return {
    hasReason: () => readers.every((reader) => reader.hasReason()),
    isFinished: () => readers.some((reader) => reader.isFinished()),
    read: (wire) => asArray(wire.choices).flatMap((choice) => readChoice(asRecord(choice) ?? {})),
    finish: (usage) => {
      const ended = readers.slice(0, begun).flatMap((reader, index) => {
        reader.finish(usage);
        return merge(index, reader.drain());
      });
      return mergeFinishes(ended);
    },
  };
};
