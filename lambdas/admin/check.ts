/** The outcome of one check of the doctor; `place` is a path in the catalog, or the name of what was checked. */
export type Check = {
  check: string;
  result: 'ok' | 'warning' | 'failed';
  place?: string;
  reason?: string;
};

export const failed = (check: string, place: string, reason: string): Check => ({
  check,
  result: 'failed',
  place,
  reason,
});

export const warning = (check: string, place: string, reason: string): Check => ({
  check,
  result: 'warning',
  place,
  reason,
});

export const ok = (check: string, reason: string): Check => ({ check, result: 'ok', reason });

/** Path of a target in the catalog, as errors of its validation spell it. */
export const placeOf = (model: number, target: number): string => `[${model}].targets[${target}]`;
