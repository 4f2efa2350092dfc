/** DynamoDB in memory, as a process: answers at once, and evaluates the expressions of the stores' writes. */
import { createServer } from 'node:http';
import { json } from 'node:stream/consumers';
import {
  type AttributeMap,
  fromAttributes,
  toAttributes,
} from '../../lambdas/stores/dynamo/client.ts';
import { listen } from '../../local/loopback.ts';
import { createMemoryTable, type MemoryTable } from '../../test/simulation/memory-table.ts';
import { startEmbeddedSecrets } from '../../test/support/embedded-secrets.ts';

type Input = {
  TableName: string;
  Key: AttributeMap;
  Item?: AttributeMap;
  UpdateExpression: string;
  ConditionExpression?: string;
  ExpressionAttributeNames?: Record<string, string>;
  ExpressionAttributeValues?: AttributeMap;
  ReturnValues?: 'ALL_NEW' | 'NONE';
};

const tables = new Map<string, MemoryTable>();
const tableOf = (name: string): MemoryTable => {
  const table = tables.get(name) ?? createMemoryTable();
  tables.set(name, table);
  return table;
};

const update = ({ Key, ExpressionAttributeValues = {}, ...input }: Input) => {
  const key = fromAttributes(Key);
  const { held, item } = tableOf(input.TableName).update({
    ...input,
    Key: key,
    ExpressionAttributeValues: fromAttributes(ExpressionAttributeValues),
  });
  if (held && input.ReturnValues === 'NONE') return { status: 200, body: {} };
  const attributes = item && toAttributes({ ...item, ...key });
  if (held) return { status: 200, body: { Attributes: attributes } };
  const __type = 'com.amazonaws.dynamodb.v20120810#ConditionalCheckFailedException';
  return { status: 400, body: { __type, Item: attributes } };
};

const read = ({ TableName, Key }: Input) => {
  const key = fromAttributes(Key);
  const item = tableOf(TableName).get(String(key.pk));
  return { status: 200, body: item ? { Item: toAttributes({ ...item, ...key }) } : {} };
};

const put = ({ TableName, Item = {} }: Input) => {
  const item = fromAttributes(Item);
  tableOf(TableName).items.set(String(item.pk), item);
  return { status: 200, body: {} };
};

const OPERATIONS: Record<string, (input: Input) => { status: number; body: object }> = {
  'DynamoDB_20120810.GetItem': read,
  'DynamoDB_20120810.PutItem': put,
  'DynamoDB_20120810.UpdateItem': update,
};

const server = createServer({ noDelay: true }, async (request, response) => {
  const input = (await json(request)) as Input;
  const operation = OPERATIONS[String(request.headers['x-amz-target'])];
  const { status, body } = operation?.(input) ?? { status: 400, body: {} };
  response.writeHead(status, { 'content-type': 'application/x-amz-json-1.0' });
  response.end(JSON.stringify(body));
});
const { url: dynamo } = await listen(server);
const secrets = await startEmbeddedSecrets({ upstreams: '{"bench":"upstream"}' });
process.send?.({ dynamo, secrets: secrets.endpoint });
