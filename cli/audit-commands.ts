import type { Command } from './command.ts';
import { formatTable, moreNote, type Row, rowsIn } from './format.ts';

const COLUMNS = ['at', 'who', 'action', 'project', 'plan', 'key', 'member', 'outcome', 'change'];

const isFields = (value: unknown): value is Row => typeof value === 'object' && value !== null;

/** The fields that differ: `quota 10 -> 20`. What was created has its ids as columns. */
const changeOf = ({ before, after }: Row): string => {
  if (!isFields(before) || !isFields(after)) return '-';
  return Object.keys({ ...before, ...after })
    .filter((name) => JSON.stringify(before[name]) !== JSON.stringify(after[name]))
    .map((name) => `${name} ${before[name] ?? '-'} -> ${after[name] ?? '-'}`)
    .join(', ');
};

export const AUDIT_COMMANDS: Record<string, Command> = {
  'audit list': {
    options: ['since', 'until', 'who', 'project', 'limit'],
    print: ({ data }) =>
      formatTable(
        COLUMNS,
        rowsIn(data).map((row) => ({ ...row, change: changeOf(row) })),
      ),
    note: moreNote,
  },
};
