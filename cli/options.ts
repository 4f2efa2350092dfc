import { readInstant } from '../lambdas/support/read-instant.ts';
import { usageError } from './cli-error.ts';

/** Reads what an option was given: one text, or each of a list. @throws CliError 2 */
type Read = (texts: [string, ...string[]], name: string, now: number) => unknown;

/** An option as data: how it is parsed, what its help shows, and how it becomes a member of a query or a body. */
export type Option = {
  /** A flag has no value, and a list may be given several times. @default one text */
  kind?: 'flag' | 'list';
  short?: string;
  /** What it accepts, in the list of commands. @default its name in capitals */
  accepts?: string;
  /** '' for one that becomes no member. @default its name */
  member?: string;
  /** @default its text */
  read?: Read;
  /** What a flag sets. @default true */
  value?: unknown;
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

const COUNT = { accepts: 'N', read: count };
const WHEN = { accepts: '12h|90d|2026-11-01|2026-11-01T08:00:00Z', read: past };
const FLAG = { kind: 'flag' } as const;
const LIST = { kind: 'list' } as const;

const each = <const Names extends readonly string[], Row>(names: Names, row: Row) =>
  Object.fromEntries(names.map((name) => [name, row])) as Record<Names[number], Row>;

export const OPTIONS = {
  ...each(['account', 'agent', 'client', 'customers', 'error', 'invoice', 'key', 'name'], {}),
  ...each(['out', 'plan', 'profile', 'project', 'region', 'secret', 'session', 'sort'], {}),
  ...each(['stack', 'target', 'upstream', 'url', 'user', 'who'], {}),
  ...each(['force', 'json', 'no-calls', 'once', 'yes'], FLAG),
  ...each(['csv', 'follow', 'organisation', 'sessions', 'users'], { ...FLAG, member: '' }),
  ...each(['rpm', 'quota', 'concurrency', 'limit', 'weight'], COUNT),
  ...each(['since', 'until', 'from', 'to'], WHEN),
  'all-models': { ...FLAG, member: 'models', value: null },
  'all-plans': { ...FLAG, member: 'plans', value: null },
  pause: { ...FLAG, member: 'paused', value: true },
  resume: { ...FLAG, member: 'paused', value: false },
  help: { ...FLAG, short: 'h' },
  model: { ...LIST, member: 'models' },
  'allow-plan': { ...LIST, member: 'plans' },
  require: { ...LIST, accepts: 'region=WORD|retention=WORD|none', read: labels },
  role: { ...LIST, accepts: 'operator|viewer|project:ID', member: 'roles' },
  'max-keys': { ...COUNT, member: 'max_keys' },
  'max-wait-ms': { ...COUNT, member: 'max_wait_ms' },
  'max-usd': { accepts: '25|0.50', member: 'max_usd', read: dollars },
  expires: { ...WHEN, member: 'expires_at', read: future },
  search: { member: 'q' },
  by: { accepts: 'day|model|key|project|user|session|agent|client|tag:NAME' },
  fault: { accepts: 'none|caller|provider|operator|router' },
  format: { accepts: 'focus|cloudevents|stripe|openmeter|ndjson' },
  loops: { accepts: 'off|warn|stop' },
  meter: { accepts: 'cost|tokens|requests' },
  month: { accepts: '2026-10' },
  overlap: { accepts: 'none|1h|24h|7d' },
  period: { accepts: 'hour|day|month' },
  priority: { accepts: 'interactive|batch' },
  provider: { accepts: 'anthropic|openai' },
  reason: { accepts: 'leaked' },
  replay: { accepts: 'header|retries|off' },
  state: { accepts: 'off|asked|default' },
  status: {},
  tag: { accepts: 'NAME=VALUE' },
} satisfies Record<string, Option>;

export type OptionName = keyof typeof OPTIONS;

type ValueOf<Row> = Row extends { kind: 'flag' }
  ? boolean
  : Row extends { kind: 'list' }
    ? string[]
    : string;
/** Option values as typed; `undefined` for omitted options. */
export type Options = { [Name in OptionName]?: ValueOf<(typeof OPTIONS)[Name]> | undefined };

export const optionOf = (name: OptionName): Option => OPTIONS[name];
export const isFlag = (name: OptionName): boolean => optionOf(name).kind === 'flag';

/** Returns an option's value. @throws CliError 2 if it is missing or empty */
export const required = (options: Options, name: OptionName): string => {
  const value = options[name];
  if (typeof value === 'string' && value !== '') return value;
  throw usageError(`Missing option: --${name}`);
};

/** How options become members of a command, where it differs from other commands. */
export type Members = Partial<Record<OptionName, Pick<Option, 'member' | 'read' | 'value'>>>;

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
    const { member = name, read, value = given } = own[name] ?? optionOf(name);
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
