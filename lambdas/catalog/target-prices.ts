import * as z from 'zod/mini';
import { TOKEN_KINDS, type TokenKind, type TokenPrices } from '../money/prices.ts';

const Price = z.nullable(z.number().check(z.nonnegative(), z.maximum(1_000_000)));
const Factor = z.nullable(z.number().check(z.positive(), z.maximum(100)));
const Name = z
  .string()
  .check(z.regex(/^[\w.-]{1,64}$/, 'must be 1 to 64 letters, digits, _, . or -'));
export const Day = z.iso.date('must be a day: 2026-11-24');

const byKind = Object.fromEntries(TOKEN_KINDS.map((kind) => [kind, z.optional(Price)])) as {
  [Kind in TokenKind]: z.ZodMiniOptional<typeof Price>;
};

const Tier: z.ZodMiniType<TokenPrices & { above: number }> = z.strictObject({
  ...byKind,
  above: z.int().check(z.positive()),
});

const Version = z.strictObject({
  ...byKind,
  from: Day,
  input: z.nullable(z.number().check(z.nonnegative())),
  output: z.nullable(z.number().check(z.nonnegative())),
  tiers: z.optional(z.array(Tier)),
  service: z.optional(z.record(Name, Factor)),
  geo: z.optional(z.record(Name, Factor)),
  uses: z.optional(z.record(Name, Price)),
});

const isRising = (values: (string | number)[]): boolean =>
  values.every((value, index) => index === 0 || value > (values[index - 1] ?? value));

/**
 * What the target's provider bills, in US dollars: tokens per million, uses each; null where it bills at a price that is not
 * known. A kind that is absent has no price: a request that uses it is marked as incomplete.
 */
export const TargetPrices = z
  .strictObject({
    currency: z.literal('USD'),
    /** Where the prices are published, and when they were read there. */
    source: z.optional(z.url({ protocol: /^https?$/, error: 'must be an http or https URL' })),
    checked: z.optional(Day),
    /** A negotiated discount (0.92), or a surcharge. */
    factor: z.optional(z.number().check(z.positive(), z.maximum(100))),
    versions: z.array(Version).check(z.minLength(1)),
  })
  .check(({ value, issues }) => {
    if (!isRising(value.versions.map(({ from }) => from))) {
      const message = 'must be in the order of their days, each once';
      issues.push({ code: 'custom', input: value.versions, path: ['versions'], message });
    }
    for (const [index, { tiers = [] }] of value.versions.entries()) {
      if (isRising(tiers.map(({ above }) => above))) continue;
      const path = ['versions', index, 'tiers'];
      const message = 'must be in the order of `above`, each once';
      issues.push({ code: 'custom', input: tiers, path, message });
    }
  });
