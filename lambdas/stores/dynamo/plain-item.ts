import type { AttributeValue } from '@aws-sdk/client-dynamodb';

const readPlain = (value: AttributeValue): unknown => {
  if (value.N !== undefined) return Number(value.N);
  if (value.S !== undefined) return value.S;
  if (value.L !== undefined) return value.L.map(readPlain);
  return undefined;
};

/** An item in DynamoDB's wire form as values, for the types that our items use: numbers, strings, lists. */
export const readPlainItem = (item: Record<string, AttributeValue>): Record<string, unknown> =>
  Object.fromEntries(Object.entries(item).map(([name, value]) => [name, readPlain(value)]));
