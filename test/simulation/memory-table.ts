import {
  ConditionalCheckFailedException,
  ProvisionedThroughputExceededException,
} from '@aws-sdk/client-dynamodb';
import { type DynamoDBDocumentClient, GetCommand, type UpdateCommand } from '@aws-sdk/lib-dynamodb';
import { toAttributes } from '../../lambdas/stores/dynamo/client.ts';
import type { Item } from '../../lambdas/stores/dynamo/dynamo-client.ts';
import { PARTITION_KEY } from '../../lambdas/tables.ts';
import { afterWrite } from '../support/expressions/expressions.ts';

export type Reply = { held: boolean; item: Item | undefined };

/** One table in memory; each call is atomic, as a call on one DynamoDB item is. */
export type MemoryTable = {
  items: Map<string, Item>;
  get(key: string): Item | undefined;
  update(input: UpdateCommand['input']): Reply;
};

const keyOf = (key: Record<string, unknown> | undefined): string => String(key?.[PARTITION_KEY]);

export const createMemoryTable = (): MemoryTable => {
  const items = new Map<string, Item>();
  return {
    items,
    get: (key) => items.get(key),
    update: (input) => {
      const key = keyOf(input.Key);
      const before = items.get(key);
      const { UpdateExpression = '', ...write } = input;
      const after = afterWrite(before ?? {}, { ...write, UpdateExpression });
      if (!after) return { held: false, item: before };
      items.set(key, after);
      return { held: true, item: after };
    },
  };
};

/** An answer as the SDK gives it; real DynamoDB sends the item with a failed condition, dynalite does not. */
export const answerOf = (reply: Reply, withItem: 'always' | 'never') => {
  const $metadata = {};
  if (reply.held) return { $metadata, Attributes: reply.item };
  const Item = reply.item && toAttributes(reply.item);
  throw new ConditionalCheckFailedException({
    $metadata,
    message: 'The conditional request failed',
    ...(Item && withItem === 'always' && { Item }),
  });
};

/** What the SDK throws when DynamoDB has no capacity left for an item. */
export const throwThrottled = (): never => {
  throw new ProvisionedThroughputExceededException({
    $metadata: { httpStatusCode: 400 },
    message: 'The level of configured provisioned throughput for the table was exceeded.',
  });
};

export type SendCommand = (command: GetCommand | UpdateCommand) => Promise<unknown>;

/** The stores use nothing of the client but `send`. */
export const clientFrom = (send: SendCommand): DynamoDBDocumentClient =>
  ({ send }) as unknown as DynamoDBDocumentClient;

/** A client of a table that never fails. */
export const createMemoryClient = (
  table: MemoryTable,
  withItem: 'always' | 'never',
): DynamoDBDocumentClient =>
  clientFrom(async (command) => {
    await Promise.resolve();
    if (command instanceof GetCommand) {
      return { $metadata: {}, Item: table.get(keyOf(command.input.Key)) };
    }
    return answerOf(table.update(command.input), withItem);
  });
