import type { Clock } from '../../support/clock.ts';
import type { KEYS_BY_PROJECT } from '../../tables.ts';
import type { Write } from './item-write.ts';

export type Item = Record<string, unknown>;

type Keyed = { TableName: string; Key: Item };
type Pages = { TableName: string; ExclusiveStartKey?: Item | undefined };
type Page = { Items?: Item[] | undefined; LastEvaluatedKey?: Item | undefined };

/** Items of a partition in the order of their sort keys; both bounds are included. */
export type RangeQuery = {
  partition: string;
  from?: string | undefined;
  /** With `from` only. */
  to?: string | undefined;
  /** Its items are up to a second behind. @default the table, strongly consistent */
  index?: typeof KEYS_BY_PROJECT;
  /** @default false */
  isDescending?: boolean;
  /** The one attribute that is read. @default all */
  attribute?: string;
  /** Items of a page. @default a megabyte of them */
  limit?: number | undefined;
};

/** The operations that stores use. What they write and look for is data, which a client puts in the words of its database. */
export type DynamoCalls = {
  GetItem: { input: Keyed & { ConsistentRead: boolean }; output: { Item?: Item | undefined } };
  UpdateItem: { input: Keyed & { write: Write }; output: { Attributes?: Item | undefined } };
  Query: { input: Pages & RangeQuery; output: Page };
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
