import type { Command, CommandInput } from './command.ts';

export type Row = Record<string, unknown>;

const plainText = (value: unknown): string => {
  if (value === undefined || value === null) return '-';
  if (Array.isArray(value)) return value.join(', ');
  return String(value);
};

/** What forges rows, colours or another writing direction in a terminal; a stored name may contain it. */
const UNPRINTABLE = /[\p{Cc}\u2028\u2029\u202a-\u202e\u2066-\u2069]/gu;

export const textOf = (value: unknown): string => plainText(value).replace(UNPRINTABLE, '\uFFFD');

export const plural = (count: unknown, noun: string): string =>
  `${textOf(count)} ${noun}${count === 1 ? '' : 's'}`;

const isNumber = (value: unknown): boolean => value === undefined || typeof value === 'number';

/** Formats rows as a table; number columns are right-aligned. */
export const formatTable = (columns: string[], rows: Row[]): string => {
  if (rows.length === 0) return '(none)';
  const widths = columns.map((column) =>
    Math.max(column.length, ...rows.map((row) => textOf(row[column]).length)),
  );
  const rightAligned = columns.map((column) => rows.every((row) => isNumber(row[column])));
  const line = (cells: string[]): string =>
    cells
      .map((cell, index) =>
        rightAligned[index] ? cell.padStart(widths[index] ?? 0) : cell.padEnd(widths[index] ?? 0),
      )
      .join('  ')
      .trimEnd();
  const header = columns.map((column) => column.toUpperCase().replaceAll('_', ' '));
  return [header, ...rows.map((row) => columns.map((column) => textOf(row[column])))]
    .map(line)
    .join('\n');
};

const formatRecord = (record: Row): string => {
  const fields = Object.entries(record);
  const width = Math.max(...fields.map(([name]) => name.length));
  return fields
    .map(([name, value]) => `${name.replaceAll('_', ' ').padEnd(width)}  ${textOf(value)}`)
    .join('\n');
};

/** The rows of a list member of a response; none if it is not a list. */
export const rowsIn = <T = Row>(value: unknown): T[] => (Array.isArray(value) ? value : []);

export const format = (command: Command, input: CommandInput, response: Row): string => {
  if (command.print) return command.print(response);
  const lists = typeof command.lists === 'function' ? command.lists(input) : command.lists;
  if (!lists) return formatRecord(response);
  const sections = Object.entries(lists).map(([member, columns]) => {
    const table = formatTable(columns, rowsIn(response[member]));
    return Object.keys(lists).length === 1 ? table : `${member}\n${table}`;
  });
  return sections.join('\n\n');
};

/** Of a list with further pages. */
export const moreNote = ({ next_cursor: next }: Row): string | undefined =>
  typeof next === 'string'
    ? 'There are more: raise --limit, or narrow --since and --until.'
    : undefined;

/** RFC 4180. A cell that a spreadsheet would read as a formula gets an apostrophe. */
const csvCell = (value: unknown): string => {
  const text =
    typeof value === 'number' ? String(value) : textOf(value).replace(/^[=+@-](?=.)/, "'$&");
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
};

export const csvLine = (cells: unknown[]): string => `${cells.map(csvCell).join(',')}\r\n`;
