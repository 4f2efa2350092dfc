import { type DynamoDBDocumentClient, GetCommand } from '@aws-sdk/lib-dynamodb';
import { throwThrottled } from '../../simulation/memory-table.ts';

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

type Command = Parameters<DynamoDBDocumentClient['send']>[0];

export type FaultyClient = {
  client: DynamoDBDocumentClient;
  /** Sets the fault of the next call. */
  injectNext(fault: Fault): void;
  /** Applies the oldest late write; false if there is none. */
  landLate(): Promise<boolean>;
  /** Drops the writes in flight: their signatures have expired. */
  expireLate(): void;
};

const isFailedCondition = (error: unknown): boolean =>
  error instanceof Error && error.name === 'ConditionalCheckFailedException';

/** A client that injects one fault at a time, chosen by the test. */
export const createFaultyClient = (base: DynamoDBDocumentClient): FaultyClient => {
  let next: Fault = 'none';
  let late: Command[] = [];
  /** Commands without a response; each repeat is dropped. */
  const silent = new WeakSet<Command>();

  const apply = async (command: Command): Promise<unknown> => {
    try {
      return await base.send(command);
    } catch (error) {
      if (!isFailedCondition(error)) throw error;
      return undefined;
    }
  };

  const sendTwice = async (command: Command): Promise<unknown> => {
    const answer = base.send(command);
    await answer.catch(() => undefined);
    if (!(command instanceof GetCommand)) await apply(command);
    return answer;
  };

  const send = async (command: Command): Promise<unknown> => {
    if (silent.has(command)) throw new Error('timeout');
    const fault = next;
    next = 'none';
    if (fault === 'throttled') return throwThrottled();
    if (fault === 'none') return base.send(command);
    if (fault === 'duplicated') return sendTwice(command);
    if (fault === 'answer lost') await apply(command);
    if (fault === 'late' && !(command instanceof GetCommand)) late.push(command);
    silent.add(command);
    throw new Error('timeout');
  };

  return {
    client: { send } as unknown as DynamoDBDocumentClient,
    injectNext: (fault) => {
      next = fault;
    },
    landLate: async () => {
      const command = late.shift();
      if (command) await apply(command);
      return command !== undefined;
    },
    expireLate: () => {
      late = [];
    },
  };
};
