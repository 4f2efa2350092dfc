import { setTimeout as pause } from 'node:timers/promises';
import { type AdminClient, requestFor } from './admin-client.ts';
import { CliError } from './cli-error.ts';
import type { Command } from './command.ts';
import { formatTable, plural, type Row, rowsIn, textOf } from './format.ts';
import { membersIn, type OptionName } from './options.ts';

const WINDOW_MS = 5 * 60_000;
/** The newest of the window: the most that one response has. */
const LIMIT = 1_000;
const MOST_GROUPS = 8;
const MOST_NEWEST = 10;
const PAUSE_MS = 2_000;
/** To the upper left corner, with an empty screen. */
const CLEAR = '\u001B[H\u001B[2J';

const numberIn = (row: Row, name: string): number => Number(row[name] ?? 0);

const rounded = (value: number, digits: number): number => Number(value.toFixed(digits));

const medianOf = (values: number[]): number | null =>
  values.toSorted((one, other) => one - other)[Math.floor((values.length - 1) / 2)] ?? null;

const measuresOf = (rows: Row[]) => {
  const countOf = (outcome: string) => rows.filter((row) => row.outcome === outcome).length;
  const first = rows.flatMap(({ first_content_ms: ms }) => (typeof ms === 'number' ? [ms] : []));
  const [failed, refused] = [countOf('failed'), countOf('refused')];
  return {
    requests: rows.length,
    failed,
    failed_percent: rounded((100 * failed) / Math.max(1, rows.length - refused), 1),
    refused,
    first_content_ms: medianOf(first),
    cost_usd: rounded(
      rows.reduce((sum, row) => sum + numberIn(row, 'cost_usd'), 0),
      6,
    ),
  };
};

/** Measures by a member of the rows, the most frequent value first. */
const groupsOf = (rows: Row[], name: string): Row[] =>
  Object.entries(Object.groupBy(rows, (row) => textOf(row[name])))
    .map(([value, group = []]): Row => ({ [name]: value, ...measuresOf(group) }))
    .toSorted((one, other) => numberIn(other, 'requests') - numberIn(one, 'requests'));

/** What requests did that began in the last five minutes, or of the newest thousand of them. */
const readFrame = async (send: AdminClient, members: Row): Promise<Row> => {
  const now = Date.now();
  const since = new Date(now - WINDOW_MS).toISOString();
  const request = requestFor('requests.list', {}, { ...members, since, limit: LIMIT });
  const { data, next_cursor: next } = await send(request);
  const rows = rowsIn(data);
  const from = next === null ? since : textOf(rows.at(-1)?.created_at);
  const seconds = Math.max(1, (now - Date.parse(from)) / 1_000);
  const all = measuresOf(rows);
  return {
    at: new Date(now).toISOString(),
    since: from,
    per_second: rounded(all.requests / seconds, 2),
    ...all,
    cost_usd_per_hour: rounded((all.cost_usd * 3_600) / seconds, 4),
    models: groupsOf(rows, 'model'),
    targets: groupsOf(rows, 'target'),
    newest: rows.slice(0, MOST_NEWEST),
  };
};

const MEASURES = [
  'requests',
  'failed',
  'failed_percent',
  'refused',
  'first_content_ms',
  'cost_usd',
];
const TABLES: Record<string, string[]> = {
  models: ['model', ...MEASURES],
  targets: ['target', ...MEASURES],
  newest: ['id', 'created_at', 'project', 'model', 'status', 'outcome', 'error', 'ms'],
};

const printFrame = (frame: Row): string => {
  const { at, since, requests, per_second, failed_percent, refused, cost_usd } = frame;
  const head = [
    `${textOf(at)}  since ${textOf(since)}: ${plural(requests, 'request')}, ${textOf(per_second)} a second`,
    `${textOf(failed_percent)} % failed, ${textOf(refused)} refused, $${textOf(cost_usd)} spent, $${textOf(frame.cost_usd_per_hour)} an hour at this rate`,
  ];
  const tables = Object.entries(TABLES).map(([member, columns]) => {
    const most = member === 'newest' ? MOST_NEWEST : MOST_GROUPS;
    return `${member}\n${formatTable(columns, rowsIn(frame[member]).slice(0, most))}`;
  });
  return [head.join('\n'), ...tables].join('\n\n');
};

const FILTERS: OptionName[] = ['project', 'key', 'user', 'session', 'agent', 'client', 'tag'];

export const TOP: Command = {
  options: [...FILTERS, 'once'],
  example: '--once',
  perform: ({ options, now }, { send }) => readFrame(send, membersIn(options, FILTERS, now)),
  print: printFrame,
  isLive: true,
};

/**
 * Shows a text every two seconds in place of the last one, and what went wrong in its place; ends with the process.
 * @throws every other error than a CliError
 */
export const showLive = async (read: () => Promise<string>, output: NodeJS.WritableStream) => {
  for (;;) {
    const text = await read().catch((error: unknown) => {
      if (error instanceof CliError) return error.message;
      throw error;
    });
    output.write(`${CLEAR}${text}\n`);
    await pause(PAUSE_MS);
  }
};
