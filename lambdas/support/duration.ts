/** `6m0s`, `2m59.56s`, `120ms`, `1d2h`, `30 seconds` */
const DURATION =
  /^(?:\d{1,9}(?:\.\d{1,12})? ?(?:ms|[smhd]|sec(?:ond)?s?|min(?:ute)?s?|hours?|days?)(?![a-z]) ?){1,5}$/i;
const PART = /(\d{1,9}(?:\.\d{1,12})?) ?(ms|[smhd])/g;
const SECONDS_IN: Record<string, number> = { ms: 0.001, s: 1, m: 60, h: 3_600, d: 86_400 };

/** Seconds of a duration with units; undefined if it is none. */
export const secondsIn = (duration: string): number | undefined => {
  if (!DURATION.test(duration)) return undefined;
  const parts = [...duration.toLowerCase().matchAll(PART)];
  return parts.reduce(
    (sum, [, amount, unit = '']) => sum + Number(amount) * (SECONDS_IN[unit] ?? 0),
    0,
  );
};
