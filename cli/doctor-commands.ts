import type { Check } from './check.ts';
import type { Command } from './command.ts';
import { runDoctor, runTargetTests } from './doctor.ts';
import { type Row, rowsIn, textOf } from './format.ts';

const COLUMNS = ['result', 'check', 'model', 'upstream', 'ms', 'place', 'reason'];

const summaryOf = (checks: Check[]) => ({
  checks,
  failed: checks.filter(({ result }) => result === 'failed').length,
  warnings: checks.filter(({ result }) => result === 'warning').length,
});

/** The output of a command that makes checks. */
const CHECKED: Command = {
  lists: { checks: COLUMNS },
  note: ({ failed, warnings }) =>
    failed === 0
      ? `All checks passed${warnings === 0 ? '' : `, ${warnings} with a warning`}.`
      : undefined,
  failure: ({ failed }) =>
    failed === 0
      ? undefined
      : `${failed} checks failed. PLACE is a path in the catalog; docs/operations.md#doctor explains each.`,
};

/** A target's calibration, with the block to paste. */
const blockOf = (row: Row): string => {
  const { target, place, receipts, counting } = row;
  const title = `${textOf(target)}  ${textOf(place)}  ${textOf(receipts)} receipts`;
  if (counting === null) {
    return `${title}\nToo few to fit: 10 requests without images are needed, of up to 64 KB, whose tokens the provider reported.`;
  }
  const error = (when: string) =>
    `${textOf(row[`median_error_${when}`])} % (9 of 10 within ${textOf(row[`p90_error_${when}`])} %)`;
  return [
    title,
    `median error before: ${error('before')}, after: ${error('after')}, on receipts that the fit did not see`,
    `"counting": ${JSON.stringify(counting, null, 2)}`,
  ].join('\n');
};

export const DOCTOR_COMMANDS: Record<string, Command> = {
  doctor: {
    options: ['no-calls'],
    perform: async (input, connection) => summaryOf(await runDoctor(connection, input)),
    ...CHECKED,
  },
  'targets list': {
    lists: {
      data: ['model', 'upstream', 'upstream_model', 'state', 'open_until', 'protocol', 'place'],
    },
  },
  'targets test': {
    operands: { model: '[MODEL]' },
    perform: async (input, connection) => summaryOf(await runTargetTests(connection, input)),
    ...CHECKED,
  },
  calibrate: {
    operation: 'calibration',
    operands: { model: '[MODEL]' },
    options: ['since'],
    print: ({ data }) => rowsIn(data).map(blockOf).join('\n\n'),
    note: ({ data }) =>
      rowsIn(data).some(({ counting }) => counting !== null)
        ? 'Paste the block into the target in the catalog, and deploy.'
        : undefined,
  },
};
