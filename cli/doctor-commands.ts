import type { Check } from './check.ts';
import type { Command } from './command.ts';
import { runDoctor, runTargetTests } from './doctor.ts';

const COLUMNS = ['result', 'check', 'model', 'upstream', 'ms', 'place', 'reason'];

const summaryOf = (checks: Check[]) => ({
  checks,
  failed: checks.filter(({ result }) => result === 'failed').length,
  warnings: checks.filter(({ result }) => result === 'warning').length,
});

const note: Command['note'] = ({ failed, warnings }) =>
  failed === 0 ? `All checks passed, ${warnings} with a warning.` : undefined;

const failure: Command['failure'] = ({ failed }) =>
  failed === 0
    ? undefined
    : `${failed} checks failed. PLACE is a path in the catalog; docs/operations.md#doctor explains each.`;

export const DOCTOR_COMMANDS: Record<string, Command> = {
  doctor: {
    operands: [],
    options: ['no-calls'],
    perform: async ({ options, now }, connection) =>
      summaryOf(await runDoctor(connection, { now, noCalls: options['no-calls'] === true })),
    lists: { checks: COLUMNS },
    note,
    failure,
  },
  'targets list': {
    operands: [],
    options: [],
    request: () => ({ method: 'GET', path: '/targets' }),
    lists: {
      data: ['model', 'upstream', 'upstream_model', 'state', 'open_until', 'protocol', 'place'],
    },
  },
  'targets test': {
    operands: ['[MODEL]'],
    options: [],
    perform: async ({ operands: [model] }, connection) =>
      summaryOf(await runTargetTests(connection, model)),
    lists: { checks: COLUMNS },
    note,
    failure,
  },
};
