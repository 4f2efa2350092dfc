import * as z from 'zod/mini';
import { type Owned, quotaNameOf } from './account.ts';

const LARGEST = 1_000_000_000_000;
const perMinute = z.optional(
  z
    .int()
    .check(z.positive('must be more than 0: a target without room is removed'), z.maximum(LARGEST)),
);

const Declared = z
  .strictObject({
    /** As the provider's responses state them; until one does, nothing is limited. */
    learned: z.optional(z.literal(true)),
    rpm: perMinute,
    /** Tokens of input and output together; of input; of output. */
    tpm: perMinute,
    itpm: perMinute,
    otpm: perMinute,
    /** Whether all models of the account share it. */
    per: z.optional(z.enum(['model', 'account'])),
    /** How the provider counts: tokens that it reads from its cache, and `max_tokens` when a request begins. Both by default. */
    counts: z.optional(
      z.strictObject({ cached: z.optional(z.boolean()), reserved: z.optional(z.boolean()) }),
    ),
  })
  .check(
    z.refine(
      ({ learned, rpm, tpm, itpm, otpm }) =>
        (learned === undefined) !== ((rpm ?? tpm ?? itpm ?? otpm) === undefined),
      'must have rpm, tpm, itpm or otpm, or be learned',
    ),
  );

/**
 * What the provider admits a minute of the model for the account, which tenants share fairly; `"learned"` is short for
 * `{ "learned": true }`. Undeclared: nothing is checked.
 */
export const TargetQuota = z.pipe(
  z.transform((given: unknown) => (given === 'learned' ? { learned: true } : given)),
  Declared,
);
type Fault = [model: number, at: 'targets', target: number, member: 'quota', message: string];

/** Targets of one account and model must declare the same, or all but one nothing. */
export const quotaIssues = (models: { targets: Owned[] }[]): Fault[] => {
  const declared = new Map<string, string>();
  return models.flatMap(({ targets }, model) =>
    targets.flatMap((target, index): Fault[] => {
      if (!target.quota) return [];
      const name = quotaNameOf(target);
      const text = JSON.stringify(target.quota);
      const first = declared.get(name) ?? text;
      declared.set(name, first);
      const rule = `must be the same on all targets of '${name}': their provider counts them together`;
      return first === text ? [] : [[model, 'targets', index, 'quota', rule]];
    }),
  );
};
