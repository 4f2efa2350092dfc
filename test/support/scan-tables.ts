import { DynamoDBClient, ScanCommand } from '@aws-sdk/client-dynamodb';
import { TABLE_NAMES } from './dynamo.ts';
import { LOCAL_AWS } from './local-aws.ts';

/** All items of all tables, as text by the table's name, so that a test can look for what no table may hold. */
export const scanTables = async (endpoint: string): Promise<Record<string, string>> => {
  const client = new DynamoDBClient({ ...LOCAL_AWS, endpoint });
  const scan = async (TableName: string): Promise<string> => {
    const items: unknown[] = [];
    let ExclusiveStartKey: Record<string, { S: string }> | undefined;
    do {
      const page = await client.send(
        new ScanCommand({
          TableName,
          ConsistentRead: true,
          ...(ExclusiveStartKey && { ExclusiveStartKey }),
        }),
      );
      items.push(...(page.Items ?? []));
      ExclusiveStartKey = page.LastEvaluatedKey as typeof ExclusiveStartKey;
    } while (ExclusiveStartKey);
    return JSON.stringify(items);
  };
  try {
    const texts: Record<string, string> = {};
    for (const [name, tableName] of Object.entries(TABLE_NAMES))
      texts[name] = await scan(tableName);
    return texts;
  } finally {
    client.destroy();
  }
};

/** The secrets that a table holds, each with the table's name. */
export const heldIn = (tables: Record<string, string>, secrets: readonly string[]): string[] =>
  Object.entries(tables).flatMap(([name, text]) =>
    secrets.filter((secret) => text.includes(secret)).map((secret) => `${name}: ${secret}`),
  );
