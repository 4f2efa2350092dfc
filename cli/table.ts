/** A row as the service answers it. */
export type Row = Record<string, unknown>;

const textOf = (value: unknown): string => {
  if (value === undefined || value === null) return '-';
  if (Array.isArray(value)) return value.join(', ');
  return String(value);
};

const isNumber = (value: unknown): boolean => value === undefined || typeof value === 'number';

/** Columns as wide as their widest cell; numbers to the right, so that they compare at a glance. */
export const formatTable = (columns: string[], rows: Row[]): string => {
  if (rows.length === 0) return '(none)';
  const widths = columns.map((column) =>
    Math.max(column.length, ...rows.map((row) => textOf(row[column]).length)),
  );
  const toTheRight = columns.map((column) => rows.every((row) => isNumber(row[column])));
  const line = (cells: string[]): string =>
    cells
      .map((cell, at) =>
        toTheRight[at] ? cell.padStart(widths[at] ?? 0) : cell.padEnd(widths[at] ?? 0),
      )
      .join('  ')
      .trimEnd();
  const header = columns.map((column) => column.toUpperCase().replaceAll('_', ' '));
  return [header, ...rows.map((row) => columns.map((column) => textOf(row[column])))]
    .map(line)
    .join('\n');
};

/** One record, a field a line. */
export const formatRecord = (record: Row): string => {
  const fields = Object.entries(record);
  const width = Math.max(...fields.map(([name]) => name.length));
  return fields
    .map(([name, value]) => `${name.replaceAll('_', ' ').padEnd(width)}  ${textOf(value)}`)
    .join('\n');
};
