import { calibratedFraming, type Receipt } from '#late/calibrate';
import type { Target } from '../catalog/catalog.ts';
import { countingOf } from '../catalog/estimate-tokens.ts';
import {
  bytesOfWeights,
  FRAMING_MEMBERS,
  type FramingNumbers,
  type Weights,
} from '../catalog/families.ts';
import type { ReceiptStore } from '../stores/notes.ts';
import { type Clock, DAY_MS, MINUTE_MS, tryFor, withTimeout } from '../support/clock.ts';
import { oncePer } from '../support/memo.ts';
import { keyOf } from './lessons.ts';

export type Calibrations = ReturnType<typeof createCalibrations>;

/** An item of 2 KB, and a fit of a millisecond. */
const PLACES = 32;
/** So many are written at once: with the first, which is not held back, as many as a fit needs. */
const BATCH = 9;
/** Fewer are written so often. When all places are taken, an environment replaces one so often: a provider that changes is followed within hours. */
const FRESH_MS = 10 * MINUTE_MS;
const LIFE_MS = 14 * DAY_MS;
/** So many times the receipts of the last fit are worth another one, which takes up to a millisecond. */
const GROWTH = 1.25;
const NO_FIT = { framing: undefined, receipts: 0 };
const READ_TIMEOUT_MS = 250;
const WRITE_TIMEOUT_MS = 1_000;

/** `of`: the weights with which it was counted, which differ between releases. */
type Kept = Receipt & { of: number; at: number };

const readKept = (text: string): Kept | undefined => {
  try {
    const [of = 0, at = 0, tokens = 0, ...counts]: number[] = JSON.parse(text);
    const isWhole = counts.length === FRAMING_MEMBERS.length && counts.every(Number.isFinite);
    return isWhole && at > 0 && tokens > 0 ? { of, at, tokens, counts } : undefined;
  } catch {
    return undefined;
  }
};

type State = {
  weights: Weights;
  places: (Kept | undefined)[];
  /** Not written yet, as texts by their place. */
  pending: Map<number, string>;
  readAt: number;
  writtenAt: number;
  reading?: Promise<unknown>;
  /** Places that are taken. */
  taken: number;
  /** The last fit, to so many receipts. */
  fit: { framing: FramingNumbers | undefined; receipts: number };
};

/** Which weights a target's receipts were counted with. They are read when the first of them is: the first request has none. */
const sumOf = oncePer(new Map<Weights, number>(), (weights) =>
  bytesOfWeights(weights).reduce((sum, each, at) => sum + each * (at + 1), 0),
);

const stateOf = (target: Target): State => ({
  weights: countingOf(target).weights,
  places: Array(PLACES).fill(undefined),
  readAt: Number.NEGATIVE_INFINITY,
  pending: new Map(),
  taken: 0,
  fit: NO_FIT,
  writtenAt: Number.NEGATIVE_INFINITY,
});

/** A place that is free, else that of the receipt of the most similar size: prompts of all sizes stay. */
const placeFor = ({ places }: State, tokens: number, now: number): [number, isFree: boolean] => {
  const free = places.findIndex((kept) => kept === undefined || kept.at + LIFE_MS < now);
  if (free !== -1) return [free, true];
  const distances = places.map((kept) => Math.abs(Math.log((kept?.tokens ?? 1) / tokens)));
  return [distances.indexOf(Math.min(...distances)), false];
};

/** What providers have counted corrects the estimates of their targets, in all environments. Nothing here throws. */
export const createCalibrations = ({ store, clock }: { store: ReceiptStore; clock: Clock }) => {
  const states = oncePer(new WeakMap<Target, State>(), stateOf);

  const put = (state: State, place: number, kept: Kept | undefined) => {
    if (!kept || place >= PLACES || kept.of !== sumOf(state.weights)) return;
    // Newer ones of this process may not have arrived in the table.
    const before = state.places[place];
    if (kept.at <= (before?.at ?? 0)) return;
    state.places[place] = kept;
    if (before) state.fit = NO_FIT;
    else state.taken += 1;
  };

  const read = async (target: Target, state: State) => {
    try {
      const found = await store.readReceipts(keyOf(target));
      for (const [place, text] of found) put(state, place, readKept(text));
    } catch {
      state.readAt -= FRESH_MS - MINUTE_MS;
    }
  };

  /** Starts to read what is known of a target, if it is due. Only a count for a caller waits for it, briefly. */
  const prefetch = (target: Target): Promise<unknown> | undefined => {
    const state = states(target);
    const now = clock.now();
    if (now - state.readAt >= FRESH_MS) {
      state.readAt = now;
      state.reading = withTimeout(clock, READ_TIMEOUT_MS, read(target, state));
    }
    return state.reading;
  };

  const write = async (target: Target, state: State) => {
    const now = clock.now();
    const writing = store.writeReceipts(keyOf(target), state.pending, now + LIFE_MS);
    state.pending = new Map();
    state.writtenAt = now;
    // What is lost, this process has, and later ones are as good.
    await tryFor(clock, WRITE_TIMEOUT_MS, writing);
  };

  return {
    prefetch,
    /** How the target frames prompts by its own counts; undefined while they are too few. */
    framingOf: (target: Target): FramingNumbers | undefined => {
      const state = states(target);
      if (state.taken > BATCH && state.taken >= GROWTH * state.fit.receipts) {
        const receipts = state.places.filter((kept) => kept !== undefined);
        const framing = calibratedFraming(receipts, countingOf(target).framing)?.framing;
        state.fit = { framing, receipts: framing ? receipts.length : 0 };
      }
      return state.fit.framing;
    },
    learn: async (target: Target, { counts, tokens }: Receipt): Promise<void> => {
      const state = states(target);
      await prefetch(target);
      const now = clock.now();
      const [place, isFree] = placeFor(state, tokens, now);
      const isDue = now - state.writtenAt >= FRESH_MS;
      if (!isFree && !isDue) return;
      const of = sumOf(state.weights);
      put(state, place, { of, at: now, tokens, counts });
      state.pending.set(place, JSON.stringify([of, now, tokens, ...counts]));
      if (isDue || state.pending.size >= BATCH) await write(target, state);
    },
  };
};
