import type { Command, CommandInput } from './command.ts';
import { formatTable, plural, type Row, rowsIn, textOf } from './format.ts';
import { PROVIDER_COLUMNS, reconcileProvider } from './reconcile-provider.ts';

const QUOTA_COLUMNS = [
  ...'id name status plan used reserved quota remaining resets_at'.split(' '),
  ...'used_this_minute rpm last_used_at meter'.split(' '),
];

const SUMS = 'charged refunded refused input_tokens output_tokens cache_read_tokens cost_usd'.split(
  ' ',
);
const ALL_SUMS = [
  ...SUMS.slice(0, -1),
  ...'cache_write_tokens reasoning_tokens cost_usd'.split(' '),
  ...['cost_estimated_usd', 'incomplete_requests'],
];
const ROW_NAMES = ['day', 'project', 'key', 'model'];

/** With a range or a grouping `usage` reads the history, otherwise the current windows of a project's keys. */
const isHistory = ({ options }: CommandInput): boolean =>
  (['since', 'until', 'by', 'csv', 'limit', 'sort'] as const).some((name) => options[name]);

/** Rows of a table without `--limit`. */
const USUAL_ROWS = 100;

/** A table of names has the highest; a file and JSON have all. */
const limitOf = ({ options: { by, csv, json } }: CommandInput) =>
  by === undefined || by === 'day' || csv || json ? {} : { limit: USUAL_ROWS };

const namesOf = ({ options: { by } }: CommandInput): string[] => {
  if (by === undefined) return ROW_NAMES;
  return by === 'key' ? ['key', 'name'] : [by];
};

const sumsTable = (title: string, names: string[], rows: unknown): string =>
  `${title}\n${formatTable([...names, ...SUMS], rowsIn(rows))}`;

const unitsIn = (periods: unknown): number =>
  rowsIn(periods).reduce((sum, { used }) => sum + Number(used), 0);

/** A project's month: by model, by key, in total, and what its meters counted. */
const printStatement = (statement: Row): string => {
  const { project, month, is_final: isFinal, as_of: asOf, periods } = statement;
  const total = [{ ...(statement.total as Row), month }];
  return [
    `${textOf(project)}, ${textOf(month)} (${isFinal === true ? 'final' : `preliminary, as of ${textOf(asOf)}`})`,
    sumsTable('by model', ['model'], statement.by_model),
    sumsTable('by key', ['key', 'name'], statement.by_key),
    sumsTable('total', ['month'], total),
    `Units that the meters counted in closed periods: ${unitsIn(periods)}`,
  ].join('\n\n');
};

/** How old the figures of the history are; undefined for the current windows of keys. */
const ageNote = ({ age_seconds: age }: Row): string | undefined => {
  if (age === undefined) return undefined;
  return age === null ? 'Not counted yet: repeat the command.' : `${textOf(age)} s old`;
};

/** What of the costs is estimated or unknown. */
const costNote = ({ total }: Row): string | undefined => {
  const { cost_estimated_usd: estimated, incomplete_requests: incomplete } = (total ?? {}) as Row;
  const notes = [
    ...(estimated ? [`$${textOf(estimated)} of the cost is estimated`] : []),
    ...(incomplete ? [`${plural(incomplete, 'request')} used something without a price`] : []),
  ];
  return notes.length === 0 ? undefined : `${notes.join('; ')}: docs/costs.md`;
};

const historyNote = (reply: Row): string | undefined =>
  [ageNote(reply), costNote(reply)].filter(Boolean).join('\n') || undefined;

const METER_COLUMNS = ['project', 'meter', 'period', 'used', 'recorded', 'difference'];

/** `reconcile` compares with a provider's report or invoice, otherwise with the meters. */
const isOfProvider = ({ options: { provider, invoice, month } }: CommandInput): boolean =>
  [provider, invoice, month].some((option) => option !== undefined);

const meterNote = ({ data }: Row): string | undefined => {
  const rows = rowsIn(data);
  const days = rows.flatMap(({ project, unfinished: day }) =>
    day === undefined ? [] : [`${textOf(project)} ${textOf(day)}`],
  );
  if (days.length > 0) {
    return `The hourly run folds days that have too many records for a request: ${days.join(', ')}.`;
  }
  return rows.some(({ difference }) => difference !== undefined && difference !== 0)
    ? 'Differences are in the history as rows of the model (unrecorded): its sums are those of the meters.'
    : undefined;
};

const providerNote = ({ our_usd: ours, their_usd: theirs, difference_usd: difference }: Row) =>
  `The router has $${textOf(ours)}, the provider $${textOf(theirs)}: a difference of $${textOf(difference)}. Both count UTC days.`;

export const USAGE_COMMANDS: Record<string, Command> = {
  'usage list': {
    example: '--since 7d --by day',
    operation: (input) => (isHistory(input) ? 'usage' : 'quotas.list'),
    options: ['project', 'key', 'since', 'until', 'by', 'limit', 'sort', 'csv'],
    members: limitOf,
    isPaged: true,
    csv: (input) => [...namesOf(input), ...ALL_SUMS],
    note: historyNote,
    lists: (input) => ({ data: isHistory(input) ? [...namesOf(input), ...SUMS] : QUOTA_COLUMNS }),
  },
  statement: {
    operands: { project: 'PROJECT' },
    options: ['month'],
    print: printStatement,
  },
  reconcile: {
    operation: (input) => (isOfProvider(input) ? undefined : 'reconcile'),
    options: ['project', 'provider', 'month', 'upstream', 'secret', 'invoice'],
    perform: reconcileProvider,
    isPaged: true,
    lists: (input) => ({ data: isOfProvider(input) ? PROVIDER_COLUMNS : METER_COLUMNS }),
    note: (reply) => (reply.their_usd === undefined ? meterNote(reply) : providerNote(reply)),
  },
};
