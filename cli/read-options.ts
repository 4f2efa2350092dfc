import { usageError } from './cli-error.ts';
import type { OptionName, Options } from './read-arguments.ts';

/** Returns an option's value. @throws CliError 2 if it is missing or empty */
export const required = (options: Options, name: OptionName): string => {
  const value = options[name];
  if (typeof value === 'string' && value !== '') return value;
  throw usageError(`Missing option: --${name}`);
};

/** Returns a whole number; the service validates its range. @throws CliError 2 if it is not one */
export const numberIn = (
  options: Options,
  name: 'rpm' | 'quota' | 'concurrency' | 'limit' | 'max-keys',
): number | undefined => {
  const text = options[name];
  if (text === undefined) return undefined;
  if (/^\d+$/.test(text)) return Number(text);
  throw usageError(`--${name} must be a whole number (got '${text}').`);
};

const UNIT_MS = { h: 3_600_000, d: 86_400_000 };
const DURATION = /^(\d{1,5})([hd])$/;

const instantOf = (
  name: string,
  text: string | undefined,
  fromNow: (ms: number) => number,
): string | undefined => {
  if (text === undefined) return undefined;
  const [, count, unit] = DURATION.exec(text) ?? [];
  const instant =
    count !== undefined && (unit === 'h' || unit === 'd')
      ? fromNow(Number(count) * UNIT_MS[unit])
      : Date.parse(text);
  if (Number.isNaN(instant)) {
    throw usageError(`--${name} must be 12h, 90d or an RFC 3339 time (got '${text}').`);
  }
  return new Date(instant).toISOString();
};

/**
 * Parses `--expires`: `12h` and `90d` count from `now`, anything else must be a time that Date
 * parses.
 * @throws CliError 2 if it is neither
 */
export const expiryIn = ({ expires }: Options, now: number): string | undefined =>
  instantOf('expires', expires, (ms) => now + ms);

/** Parses `--since`, `--until`, `--from` or `--to`, whose durations count back from `now`. @throws CliError 2 */
export const pastIn = (
  options: Options,
  name: 'since' | 'until' | 'from' | 'to',
  now: number,
): string | undefined => instantOf(name, options[name], (ms) => now - ms);

/**
 * Returns the record without undefined members. Copied from lambdas/, which cli/ may not import.
 */
export const omitUndefined = (fields: Record<string, unknown>): Record<string, unknown> =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));

/** Path with a query of the defined fields. */
export const withQuery = (
  path: string,
  fields: Record<string, string | number | undefined>,
): string => {
  const pairs = Object.entries(fields)
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => `${name}=${encodeURIComponent(String(value))}`);
  return pairs.length === 0 ? path : `${path}?${pairs.join('&')}`;
};
