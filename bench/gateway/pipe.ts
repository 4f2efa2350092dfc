/**
 * D, the denominator: a proxy that parses nothing. Its argument is the upstream's URL. With the address of a store as a second
 * argument it makes the writes of a metered request with the router's client, one before the request and two after its answer:
 * what no meter on DynamoDB goes below.
 */
import {
  Agent,
  createServer,
  type IncomingMessage,
  request as open,
  type ServerResponse,
} from 'node:http';
import { createDynamoClient } from '../../lambdas/stores/dynamo/client.ts';
import type { DynamoCalls } from '../../lambdas/stores/dynamo/dynamo-client.ts';
import { systemClock } from '../../lambdas/support/clock.ts';
import { listen } from '../../local/loopback.ts';

const upstream = new URL(process.argv[2] ?? '');
const [, , , endpoint] = process.argv;
const agent = new Agent({ keepAlive: true, maxSockets: 1024 });

const forward = (request: IncomingMessage, response: ServerResponse) => {
  const headers = { ...request.headers, host: upstream.host, authorization: 'Bearer upstream' };
  const outgoing = open(upstream, { method: 'POST', headers, agent }, (answer) => {
    response.writeHead(answer.statusCode ?? 502, answer.headers);
    answer.pipe(response);
  });
  response.once('close', () => {
    if (!response.writableFinished) outgoing.destroy();
  });
  outgoing.once('error', () => response.destroy());
  request.pipe(outgoing);
};

/** About as long as those of a meter and of a record. */
const WRITE: DynamoCalls['UpdateItem']['input'] = {
  ...{ TableName: 'meters', Key: { pk: 'pipe' } },
  write: { set: Object.fromEntries(Array.from({ length: 12 }, (_, at) => [`member${at}`, at])) },
};

const createMetered = (address: string): typeof forward => {
  const key = { accessKeyId: 'local', secretAccessKey: 'local', sessionToken: 't'.repeat(800) };
  const credentials = async () => key;
  const options = { endpoint: address, region: 'us-east-1', credentials, clock: systemClock };
  const client = createDynamoClient(options);
  const write = () => client.call('UpdateItem', WRITE);
  return async (request, response) => {
    response.once('finish', () => Promise.all([write(), write()]));
    await write();
    forward(request, response);
  };
};

const server = createServer(
  { noDelay: true },
  endpoint === undefined ? forward : createMetered(endpoint),
);
const { url } = await listen(server);
process.send?.({ url });
