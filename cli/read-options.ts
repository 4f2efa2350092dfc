import { usageError } from './cli-error.ts';
import type { OptionName, Options } from './read-arguments.ts';

/** @throws CliError 2 */
export const required = (options: Options, name: OptionName): string => {
  const value = options[name];
  if (typeof value === 'string' && value !== '') return value;
  throw usageError(`--${name} is missing.`);
};

/** A number as typed; the service says which numbers it takes. @throws CliError 2 */
export const numberIn = (options: Options, name: 'rpm' | 'quota'): number | undefined => {
  const text = options[name];
  if (text === undefined) return undefined;
  if (/^\d+$/.test(text)) return Number(text);
  throw usageError(`--${name} is '${text}', but must be a whole number.`);
};

const UNIT_MS = { h: 3_600_000, d: 86_400_000 };
const DURATION = /^(\d{1,5})([hd])$/;

/** `12h` and `90d` count from `now`; everything else must be a time that Date reads. @throws CliError 2 */
export const expiryIn = ({ expires }: Options, now: number): string | undefined => {
  if (expires === undefined) return undefined;
  const [, count, unit] = DURATION.exec(expires) ?? [];
  const instant =
    count !== undefined && (unit === 'h' || unit === 'd')
      ? now + Number(count) * UNIT_MS[unit]
      : Date.parse(expires);
  if (Number.isNaN(instant)) {
    throw usageError(`--expires is '${expires}', but must be 12h, 90d or a time in RFC 3339.`);
  }
  return new Date(instant).toISOString();
};

/** The record without its undefined members, which JSON has no word for. */
export const omitUndefined = (fields: Record<string, unknown>): Record<string, unknown> =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
