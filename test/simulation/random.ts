export type Random = {
  /** True with the given probability. */
  chance(probability: number): boolean;
  /** A whole number from `min` to `max`, both included. */
  between(min: number, max: number): number;
};

/** mulberry32: the same seed gives the same run, on every machine. */
export const createRandom = (seed: number): Random => {
  let state = seed >>> 0;
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296;
  };
  return {
    chance: (probability) => next() < probability,
    between: (min, max) => min + Math.floor(next() * (max - min + 1)),
  };
};
