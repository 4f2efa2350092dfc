import {
  type DynamoClient,
  DynamoError,
  type DynamoOperation,
} from '../../../lambdas/stores/dynamo/dynamo-client.ts';
import type { Clock } from '../../../lambdas/support/clock.ts';

/** Fault of the first call of a verb. */
export type Fault = 'none' | 'dropped' | 'answer lost' | 'late' | 'duplicated' | 'throttled';
export const FAULTS: Fault[] = [
  'none',
  'dropped',
  'answer lost',
  'late',
  'duplicated',
  'throttled',
];

export type FaultyClient = {
  client: DynamoClient;
  /** Sets the fault of the next call, or of one after it. */
  injectNext(fault: Fault, callsBefore?: number): void;
  /** Applies the oldest late write; false if there is none. */
  landLate(): Promise<boolean>;
  /** Late writes that are still to be applied. */
  countLate(): number;
  /** Drops the writes in flight: their signatures have expired. */
  expireLate(): void;
};

const throttled = (): DynamoError =>
  new DynamoError('ProvisionedThroughputExceededException', {
    ...{ status: 400, item: undefined, cause: undefined },
  });

/** Thousands of histories wait for nothing. */
const WITHOUT_PAUSES: Clock = {
  now: () => 0,
  after: (_, action) => {
    queueMicrotask(action);
    return () => undefined;
  },
};

const isWrite = (operation: DynamoOperation): boolean => operation === 'UpdateItem';

/** A client that injects one fault at a time, chosen by the test. */
export const createFaultyClient = (base: DynamoClient): FaultyClient => {
  let next: Fault = 'none';
  let callsBeforeNext = 0;
  let late: (() => Promise<void>)[] = [];
  /** Errors of calls by their inputs: each repeat fails as the first attempt did. */
  const failed = new WeakMap<object, Error>();

  const call: DynamoClient['call'] = async (operation, input) => {
    const known = failed.get(input);
    if (known) throw known;
    const fail = (error: Error) => {
      failed.set(input, error);
      throw error;
    };
    const send = () => base.call(operation, input);
    const apply = async () => {
      await send().catch((error: unknown) => {
        if (!(error instanceof DynamoError)) throw error;
      });
    };
    callsBeforeNext -= 1;
    if (callsBeforeNext >= 0) return send();
    const fault = next;
    next = 'none';
    if (fault === 'throttled') return fail(throttled());
    if (fault === 'none') return send();
    if (fault === 'duplicated') {
      return send().finally(async () => {
        if (isWrite(operation)) await apply();
      });
    }
    if (fault === 'answer lost') await apply();
    if (fault === 'late' && isWrite(operation)) late.push(apply);
    return fail(new Error('timeout'));
  };

  return {
    client: { ...base, call, clock: WITHOUT_PAUSES },
    injectNext: (fault, callsBefore = 0) => {
      next = fault;
      callsBeforeNext = callsBefore;
    },
    landLate: async () => {
      const apply = late.shift();
      await apply?.();
      return apply !== undefined;
    },
    countLate: () => late.length,
    expireLate: () => {
      late = [];
    },
  };
};
