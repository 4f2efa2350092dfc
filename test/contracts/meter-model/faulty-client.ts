import { type DynamoDBDocumentClient, GetCommand } from '@aws-sdk/lib-dynamodb';

/** What befalls the first call of a verb. */
export type Fault = 'none' | 'dropped' | 'answer lost' | 'late' | 'duplicated';
export const FAULTS: Fault[] = ['none', 'dropped', 'answer lost', 'late', 'duplicated'];

type Command = Parameters<DynamoDBDocumentClient['send']>[0];

export type FaultyClient = {
  client: DynamoDBDocumentClient;
  /** The next call suffers this. */
  befall(fault: Fault): void;
  /** Sends what was late, oldest first; false if nothing was. */
  landLate(): Promise<boolean>;
  /** What is still under way never arrives: its signature has expired. */
  expireLate(): void;
};

const isFailedCondition = (error: unknown): boolean =>
  error instanceof Error && error.name === 'ConditionalCheckFailedException';

/** A way to the table with one fault at a time, chosen by the test. */
export const createFaultyClient = (base: DynamoDBDocumentClient): FaultyClient => {
  let next: Fault = 'none';
  let late: Command[] = [];

  const apply = async (command: Command): Promise<unknown> => {
    try {
      return await base.send(command);
    } catch (error) {
      if (!isFailedCondition(error)) throw error;
      return undefined;
    }
  };

  const send = async (command: Command): Promise<unknown> => {
    const fault = next;
    next = 'none';
    if (fault === 'none') return base.send(command);
    if (fault === 'duplicated') {
      const answer = base.send(command);
      await answer.catch(() => undefined);
      if (!(command instanceof GetCommand)) await apply(command);
      return answer;
    }
    if (fault === 'answer lost') await apply(command);
    if (fault === 'late' && !(command instanceof GetCommand)) late.push(command);
    throw new Error('timeout');
  };

  return {
    client: { send } as unknown as DynamoDBDocumentClient,
    befall: (fault) => {
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
