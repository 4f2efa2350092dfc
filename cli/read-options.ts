import { readInstant } from '../lambdas/support/read-instant.ts';
import { usageError } from './cli-error.ts';
import type { OptionName, Options } from './read-arguments.ts';

/** Returns an option's value. @throws CliError 2 if it is missing or empty */
export const required = (options: Options, name: OptionName): string => {
  const value = options[name];
  if (typeof value === 'string' && value !== '') return value;
  throw usageError(`Missing option: --${name}`);
};

const UNIT_MS = { h: 3_600_000, d: 86_400_000 };
const DURATION = /^(\d{1,5})([hd])$/;

const instantOf = (name: string, text: string, fromNow: (ms: number) => number): string => {
  const [, count, unit] = DURATION.exec(text) ?? [];
  const instant =
    count !== undefined && (unit === 'h' || unit === 'd')
      ? fromNow(Number(count) * UNIT_MS[unit])
      : readInstant(text);
  if (Number.isNaN(instant)) {
    throw usageError(
      `--${name} must be 12h, 90d, a day such as 2027-01-31, or an RFC 3339 time (got '${text}').`,
    );
  }
  return new Date(instant).toISOString();
};

/** Reads what an option was given: one text, or each of a list. @throws CliError 2 */
type Read = (texts: [string, ...string[]], name: OptionName, now: number) => unknown;

/** `region=eu` and `retention=none`, each any number of times; `none` alone removes them. @throws CliError 2 */
const labels: Read = (texts) => {
  if (texts.join() === 'none') return null;
  const all: Record<string, string[]> = {};
  for (const text of texts) {
    const [, label = '', word = ''] = /^(region|retention)=(.+)$/.exec(text) ?? [];
    if (label === '')
      throw usageError(`--require must be region=WORD or retention=WORD (got '${text}').`);
    all[label] = [...(all[label] ?? []), word];
  }
  return all;
};

/** `none` removes a limit; the service validates the range. */
const count: Read = ([text], name) => {
  if (text === 'none') return null;
  if (/^\d+$/.test(text)) return Number(text);
  throw usageError(`--${name} must be a whole number (got '${text}').`);
};
const past: Read = ([text], name, now) => instantOf(name, text, (ms) => now - ms);
const future: Read = ([text], name, now) => instantOf(name, text, (ms) => now + ms);
const dollars: Read = ([text], name) => {
  if (/^\d+(\.\d{1,2})?$/.test(text)) return Number(text);
  throw usageError(`--${name} must be an amount such as 25 or 0.50 (got '${text}').`);
};

/** How an option becomes a member of a query or a body; '' for one that becomes none. @default its text, as the member of its name */
export type Members = Partial<
  Record<OptionName, { member?: string; read?: Read; value?: unknown }>
>;

const MEMBERS: Members = {
  rpm: { read: count },
  quota: { read: count },
  concurrency: { read: count },
  limit: { read: count },
  'max-keys': { member: 'max_keys', read: count },
  'max-wait-ms': { member: 'max_wait_ms', read: count },
  weight: { read: count },
  'max-usd': { member: 'max_usd', read: dollars },
  model: { member: 'models' },
  require: { read: labels },
  'all-models': { member: 'models', value: null },
  'allow-plan': { member: 'plans' },
  'all-plans': { member: 'plans', value: null },
  pause: { member: 'paused', value: true },
  resume: { member: 'paused', value: false },
  search: { member: 'q' },
  since: { read: past },
  until: { read: past },
  from: { read: past },
  to: { read: past },
  expires: { member: 'expires_at', read: future },
  role: { member: 'roles' },
  csv: { member: '' },
  follow: { member: '' },
  users: { member: '' },
  sessions: { member: '' },
  organisation: { member: '' },
};

/** The members that the options of these names set. @throws CliError 2 if two of them set one */
export const membersIn = (
  options: Options,
  names: readonly OptionName[],
  now: number,
  own: Members = {},
) => {
  const members: Record<string, unknown> = {};
  const setBy: Record<string, OptionName> = {};
  for (const name of names) {
    const given = options[name];
    const { member = name, read, value = given } = own[name] ?? MEMBERS[name] ?? {};
    if (given === undefined || member === '') continue;
    if (setBy[member]) {
      throw usageError(`--${setBy[member]} and --${name} are mutually exclusive.`);
    }
    setBy[member] = name;
    const [first = '', ...others] = [given].flat().map(String);
    members[member] = read ? read([first, ...others], name, now) : value;
  }
  return members;
};
