import type { Clock } from '../../support/clock.ts';

export type Item = Record<string, unknown>;

type Keyed = { TableName: string; Key: Item };
type Expressions = {
  ExpressionAttributeNames?: Record<string, string> | undefined;
  ExpressionAttributeValues?: Item | undefined;
};
type Pages = { TableName: string; ExclusiveStartKey?: Item | undefined };
type Page = { Items?: Item[] | undefined; LastEvaluatedKey?: Item | undefined };

/** The operations that stores use, in DynamoDB's words, with plain values in place of attribute values. */
export type DynamoCalls = {
  GetItem: { input: Keyed & { ConsistentRead: boolean }; output: { Item?: Item | undefined } };
  UpdateItem: {
    input: Keyed &
      Expressions & {
        UpdateExpression: string;
        ConditionExpression?: string | undefined;
        ReturnValues: 'ALL_NEW' | 'NONE';
        ReturnValuesOnConditionCheckFailure: 'ALL_OLD';
      };
    output: { Attributes?: Item | undefined };
  };
  Query: {
    input: Pages &
      Expressions & {
        IndexName?: string;
        KeyConditionExpression: string;
        ProjectionExpression?: string | undefined;
        Limit?: number | undefined;
        ScanIndexForward?: boolean;
        ConsistentRead?: boolean;
      };
    output: Page;
  };
  Scan: { input: Pages; output: Page };
};
export type DynamoOperation = keyof DynamoCalls;

/** Implemented by createDynamoClient (client.ts) and createDatabaseClient (local/database). */
export type DynamoClient = {
  /** One attempt. @throws DynamoError if DynamoDB answered with an error; any other error: outcome unknown */
  call<Operation extends DynamoOperation>(
    operation: Operation,
    input: DynamoCalls[Operation]['input'],
  ): Promise<DynamoCalls[Operation]['output']>;
  /** For the pause before a throttled call is sent again. */
  clock: Clock;
  destroy(): void;
};

/** DynamoDB answered with an error, whose name is DynamoDB's. */
export class DynamoError extends Error {
  readonly status: number;
  /** The item before a write whose condition failed, if DynamoDB returned it. */
  readonly item: Item | undefined;

  constructor(name: string, details: { status: number; item: Item | undefined; cause: unknown }) {
    super(`DynamoDB responded with ${details.status}`, { cause: details.cause });
    this.name = name;
    this.status = details.status;
    this.item = details.item;
  }
}
