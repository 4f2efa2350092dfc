const field = (value: unknown): string => {
  const text = String(value ?? '');
  // A spreadsheet runs a cell that starts with one of these.
  const safe = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
  return /[",\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
};

/** RFC 4180; lists and objects have no column. */
export const csvOf = (rows: readonly Record<string, unknown>[]): string => {
  const isCell = ([, value]: [string, unknown]) => typeof value !== 'object' || value === null;
  const cells = rows.flatMap((row) => Object.entries(row).filter(isCell));
  const names = [...new Set(cells.map(([name]) => name))];
  const lines = rows.map((row) => names.map((name) => field(row[name])).join(','));
  return `${[names.join(','), ...lines].join('\r\n')}\r\n`;
};

export const saveFile = (name: string, text: string): void => {
  const url = URL.createObjectURL(new Blob([text], { type: 'text/csv;charset=utf-8' }));
  const link = Object.assign(document.createElement('a'), { href: url, download: name });
  link.click();
  URL.revokeObjectURL(url);
};
