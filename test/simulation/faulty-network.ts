import { GetCommand, type UpdateCommand } from '@aws-sdk/lib-dynamodb';
import { PARTITION_KEY } from '../../lambdas/tables.ts';
import {
  answerOf,
  clientFrom,
  type MemoryTable,
  type SendCommand,
  throwThrottled,
} from './memory-table.ts';
import type { Random } from './random.ts';
import type { Scheduler } from './scheduler.ts';

/** Probabilities of the faults of one attempt of one call. */
export type Faults = {
  /** Never arrives. */
  drop: number;
  /** Is applied, and the answer is lost. */
  loseReply: number;
  /** Is given up and applied later, up to 14 minutes. */
  late: number;
  /** Is applied twice before it is answered, as by a proxy that repeats it. (The SDK's own repeats are above.) */
  duplicate: number;
  /** Is applied, and once more up to 14 minutes after its answer, without the SDK's knowledge. */
  stray: number;
  /** Is refused: not applied, and its sender knows. */
  throttle: number;
  /** Of one process, at any time. */
  crash: number;
};

export const NO_FAULTS: Faults = {
  drop: 0,
  loseReply: 0,
  late: 0,
  duplicate: 0,
  stray: 0,
  throttle: 0,
  crash: 0,
};

const TIMEOUT_MS = 1_000;

/** Mostly while the request runs, now and then as late as a signed write is accepted. */
const lateness = (random: Random): number =>
  random.chance(0.7) ? random.between(0, 3_000) : random.between(0, 14 * 60_000);

/** The outcome of `run` now, to be returned or thrown later. */
const settled = (run: () => unknown): (() => unknown) => {
  try {
    const value = run();
    return () => value;
  } catch (error) {
    return () => {
      throw error;
    };
  }
};

/** One process's way to the table; a dead process sends and hears nothing any more. */
export const createFaultyClient = ({
  table,
  scheduler,
  random,
  faults,
  isAlive,
}: {
  table: MemoryTable;
  scheduler: Scheduler;
  random: Random;
  faults: Faults;
  isAlive: () => boolean;
}) => {
  const withItem = random.chance(0.5) ? 'always' : 'never';

  const execute = (command: Parameters<SendCommand>[0]): unknown =>
    command instanceof GetCommand
      ? { $metadata: {}, Item: table.get(String(command.input.Key?.[PARTITION_KEY])) }
      : answerOf(table.update(command.input), withItem);

  const applyAfter = (ms: number, command: Parameters<SendCommand>[0]): void => {
    if (command instanceof GetCommand) return;
    const input: UpdateCommand['input'] = command.input;
    scheduler.after(ms, () => table.update(input));
  };

  /** What becomes of one attempt; undefined: no answer within the timeout. */
  const attempt = async (command: Parameters<SendCommand>[0]) => {
    await scheduler.sleep(random.between(1, 15));
    if (random.chance(faults.drop)) return undefined;
    if (random.chance(faults.throttle)) return throwThrottled;
    if (random.chance(faults.late)) {
      applyAfter(lateness(random), command);
      return undefined;
    }
    const answer = settled(() => execute(command));
    if (random.chance(faults.loseReply)) return undefined;
    const delay = random.between(1, 15);
    if (random.chance(faults.stray)) applyAfter(lateness(random), command);
    if (random.chance(faults.duplicate)) applyAfter(random.between(0, delay), command);
    await scheduler.sleep(delay);
    return answer;
  };

  const never = new Promise<never>(() => undefined);

  return clientFrom(async (command) => {
    if (!isAlive()) return never;
    const answer = await attempt(command);
    if (!answer) await scheduler.sleep(TIMEOUT_MS);
    if (!isAlive()) return never;
    if (answer) return answer();
    throw Object.assign(new Error('timeout'), { name: 'TimeoutError' });
  });
};
