import { readFile } from 'node:fs/promises';
import * as z from 'zod';
import { type AdminClient, requestFor } from './admin-client.ts';
import { messageOf, usageError } from './cli-error.ts';
import type { Command, CommandInput } from './command.ts';
import { csvLine, type Row, rowsIn, textOf } from './format.ts';
import { membersIn, type Options, required } from './options.ts';
import { type Piece, writeResumable } from './resumable-file.ts';

const FORMATS = ['focus', 'cloudevents', 'stripe', 'openmeter', 'ndjson'] as const;

const formatIn = (options: Options) => {
  const given = required(options, 'format');
  const format = FORMATS.find((name) => name === given);
  if (format) return format;
  throw usageError(`--format must be ${FORMATS.join(', ')} (got '${given}').`);
};

const Customers = z.record(z.string(), z.string());

/** The customer of each project in Stripe. */
const readCustomers = async (file: string): Promise<Record<string, string>> => {
  try {
    return Customers.parse(JSON.parse(await readFile(file, 'utf8')));
  } catch (cause) {
    const form = 'a JSON object of project ids with customer ids';
    throw usageError(`--customers ${file} must be ${form}: ${messageOf(cause)}.`, { cause });
  }
};

const withCustomer = (event: Row, customers: Record<string, string>): Row => {
  const payload = event.payload as Row;
  const project = textOf(payload.stripe_customer_id);
  const customer = customers[project];
  if (customer === undefined) throw usageError(`--customers has no project '${project}'.`);
  return { ...event, payload: { ...payload, stripe_customer_id: customer } };
};

type Written = { from: string; to: string };

/** The lines of a page; CSV has its columns before the first row. */
const textIn = (rows: Row[], isCsv: boolean, isFirst: boolean): string => {
  if (!isCsv) return rows.map((row) => `${JSON.stringify(row)}\n`).join('');
  const columns = Object.keys(rows[0] ?? {});
  const lines = rows.map((row) => csvLine(columns.map((column) => row[column] ?? '')));
  return [...(isFirst && columns.length > 0 ? [csvLine(columns)] : []), ...lines].join('');
};

const createRead =
  (send: AdminClient, convert: (row: Row) => Row, written: Partial<Written>, isCsv: boolean) =>
  async (path: string, isFirst: boolean): Promise<Piece> => {
    const { data, next_cursor: cursor, from, to } = await send({ method: 'GET', path });
    Object.assign(written, { from, to });
    const rows = rowsIn(data).map(convert);
    const base = path.replace(/&cursor=.*$/, '');
    return {
      text: textIn(rows, isCsv, isFirst),
      count: rows.length,
      next: typeof cursor === 'string' ? `${base}&cursor=${encodeURIComponent(cursor)}` : undefined,
    };
  };

/** Reads page by page into a file; a run that was killed is continued by repeating it. */
const exportTo = async ({ options, now }: CommandInput, { send }: { send: AdminClient }) => {
  const format = formatIn(options);
  const isCsv = format === 'focus';
  const { project, account, meter, customers: file } = options;
  required(options, 'from');
  if (format === 'stripe') required(options, 'customers');
  const customers = file === undefined ? {} : await readCustomers(file);
  const members = membersIn(options, ['from', 'to', 'project', 'account', 'meter', 'limit'], now);
  const { path } = requestFor('export', { format }, members);
  const out = options.out ?? `model-router-${format}.${isCsv ? 'csv' : 'ndjson'}`;
  const asked = JSON.stringify([format, options.from, options.to, project, account, meter]);
  const written: Partial<Written> = {};
  const convert = (row: Row) => (format === 'stripe' ? withCustomer(row, customers) : row);
  const read = createRead(send, convert, written, isCsv);
  const rows = await writeResumable(out, { asked, path }, read);
  return { file: out, format, rows, ...written };
};

export const EXPORT_COMMANDS: Record<string, Command> = {
  export: {
    options: ['format', 'from', 'to', 'project', 'account', 'meter', 'customers', 'out', 'limit'],
    example: '--format focus --from 7d --out costs.csv',
    perform: exportTo,
    note: ({ to }) => `Complete until ${textOf(to)}: begin the next export there.`,
  },
};
