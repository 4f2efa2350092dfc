import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** Files that compute for long: one that starts last would end the run alone. */
export const COMPUTING = [
  'lib/security-rules',
  'releases/day',
  'faults/freezes',
  'contracts/meter-model',
  'faults/dependencies',
  'caches/sessions',
  'local/package',
  'contracts/stores',
  'metering/tip-over',
  'faults/growth',
  'lib/resources',
  'faults/matrix',
  'metering/kills',
  'metering/early-calls',
  'faults/incidents/incidents',
  'simulation/shares',
];

/** Files that mostly wait: several at a time would leave a core idle. */
export const WAITING = [
  'shares/crowd',
  'metering/invoice',
  'alerts/local',
  'shares/shares',
  'metering/trouble',
  'shares/troubles',
  'budgets/crowd',
  'local/main',
];

/** After how many others the next file that waits starts. */
const APART = 12;

/**
 * The order in which `files` start: those that compute for long first, the rest as given, and among both those that wait, apart.
 * `isAt` states whether a file is the one of a name above.
 */
export const slowFirst = <File>(
  files: File[],
  isAt: (file: File, name: string) => boolean,
): File[] => {
  const named = (names: string[]) =>
    names.flatMap((name) => files.filter((file) => isAt(file, name)));
  const computing = named(COMPUTING);
  const waiting = named(WAITING);
  const taken = new Set([...computing, ...waiting]);
  const order = [...computing, ...files.filter((file) => !taken.has(file))];
  for (const [index, file] of waiting.entries()) order.splice(index * APART, 0, file);
  return order;
};

/** A clone has no durations of an earlier run, by which Vitest would order the files: it would take the longest texts first. */
export class SlowFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    return slowFirst(await super.sort(files), ({ moduleId }, name) =>
      moduleId.endsWith(`/test/${name}.test.ts`),
    );
  }
}
