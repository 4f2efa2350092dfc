import { PutCommand } from '@aws-sdk/lib-dynamodb';
import { expect, test } from 'vitest';
import { startDynamo, TABLE_NAMES } from '../support/dynamo.ts';

test('closing the embedded DynamoDB completes the writes in flight', async () => {
  const { sdk, close } = await startDynamo();
  const written = Array.from({ length: 200 }, (_, at) =>
    sdk.send(new PutCommand({ TableName: TABLE_NAMES.meters, Item: { pk: `meter-${at}` } })),
  );
  await written[0];
  await close();
  const ends = await Promise.allSettled(written);
  // Those that were still on their way to it are told so; nothing throws where nobody catches it.
  expect(ends.filter(({ status }) => status === 'fulfilled').length).toBeGreaterThan(0);
});
