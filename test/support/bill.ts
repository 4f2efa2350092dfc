import '../../lambdas/web/lambda-runtime.ts';
import { randomBytes } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { createServer, type ServerResponse } from 'node:http';
import { PassThrough } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { createCatalog } from '../../lambdas/catalog/catalog.ts';
import { createRouter } from '../../lambdas/create-router.ts';
import type { HttpEvent } from '../../lambdas/http/read-event.ts';
import { createKeyLifecycle } from '../../lambdas/keys/lifecycle.ts';
import { labelsOf } from '../../lambdas/metrics.ts';
import type { CallerProtocolName } from '../../lambdas/protocols/protocol.ts';
import { callerProtocols } from '../../lambdas/protocols/protocols.ts';
import { formatSse } from '../../lambdas/protocols/streams/sse.ts';
import { createDynamoStores, createRouterStores } from '../../lambdas/stores/dynamo/stores.ts';
import { createTelemetry } from '../../lambdas/telemetry/create-telemetry.ts';
import { createHttpUpstream } from '../../lambdas/upstreams/http-upstream.ts';
import { listen } from '../../local/loopback.ts';
import { startDynamoProxy } from '../metering/dynamo-proxy.ts';
import { functionUrl } from '../runtime/events.ts';
import { startEmbeddedDynamo } from './embedded-dynamo.ts';
import { fixedSecrets } from './fixed-secrets.ts';
import { createLocalDynamoClient } from './local-aws.ts';
import { createManualClock } from './manual-clock.ts';
import { modelOn, targetAt } from './models.ts';
import { requestOf } from './translate.ts';

/** What AWS counts of one request. */
export type Units = { writes: number; reads: number; logBytes: number; bytesOut: number };

const DECISIONS = new URL('../../docs/decisions/', import.meta.url);

/** The first tokens of this project's prose: words of up to nine letters with the space before them, marks, line ends. */
const tokensOf = (count: number): string[] => {
  const pages = readdirSync(DECISIONS).filter((name) => name.startsWith('00'));
  const text = pages.map((name) => readFileSync(new URL(name, DECISIONS), 'utf8')).join('\n');
  return (text.match(/ ?[A-Za-z]{1,9}| ?\d{1,3}|[^A-Za-z\d\s]{1,3}|\s+/g) ?? []).slice(0, count);
};

const META = {
  ...{ id: 'a'.repeat(24), model: 'large-2026-10-01', created: 1_795_500_000 },
  ...{ now: () => 1_795_500_020, estimateInput: () => 120 },
};

/** The messages of a provider's stream, one for each token. */
const streamOf = (protocol: 'chat' | 'messages', tokens: string[]): string[] => {
  const { push } = callerProtocols[protocol].streamEncoder(requestOf(protocol), META);
  const usage = { inputTokens: 120, outputTokens: tokens.length };
  return [
    [{ type: 'start' as const }],
    [{ type: 'block-start' as const, index: 0, block: { type: 'text' as const } }],
    ...tokens.map((delta) => [{ type: 'block-delta' as const, index: 0, delta }]),
    [{ type: 'block-end' as const, index: 0 }],
    [{ type: 'finish' as const, reason: { unified: 'stop' as const }, usage }],
  ].map((events) => events.flatMap(push).map(formatSse).join(''));
};

type Consumed = { __type?: string; ConsumedCapacity?: { CapacityUnits: number } };

/** A proxy of the table that adds up what the calls consume. */
const startCounting = async (endpoint: string, units: Pick<Units, 'reads' | 'writes'>) => {
  const proxy = await startDynamoProxy(endpoint);
  proxy.watch(({ operation }, body) => {
    const { __type, ConsumedCapacity } = JSON.parse(body.toString()) as Consumed;
    if (!ConsumedCapacity && !__type) throw new Error('The table does not state what it took.');
    // At least one unit, also if its condition failed.
    const taken = ConsumedCapacity?.CapacityUnits ?? 1;
    units[operation === 'UpdateItem' ? 'writes' : 'reads'] += taken;
  });
  return proxy;
};

/** A router as the function has it, whose provider answers when it is told to. */
const startMetered = async () => {
  const clock = createManualClock(Date.UTC(2026, 10, 21, 12));
  const units = { writes: 0, reads: 0 };
  const dynamo = await startEmbeddedDynamo();
  const table = await startCounting(dynamo.endpoint, units);
  const client = createLocalDynamoClient(table.url, 5_000);
  const options = { client, tableNames: dynamo.tableNames };
  const waiting: ServerResponse[] = [];
  const provider = await listen(
    createServer((request, response) => {
      request.resume().on('end', () => waiting.push(response));
    }),
  );
  const target = (protocol: 'chat' | 'messages') => [
    targetAt(provider.url, { protocol }),
    targetAt(provider.url, { protocol, upstream: 'secondary' }),
  ];
  const models = (['chat', 'messages'] as const).map((protocol) =>
    modelOn(target(protocol), { id: `vendor/${protocol}` }),
  );
  const lines: string[] = [];
  const log = createTelemetry({
    ...{ stage: 'prod', labels: labelsOf(models, 76), clock },
    write: (text) => lines.push(text),
  });
  const stores = createDynamoStores(options);
  await stores.plans.putPlan({ id: 'plan', rpm: 1_000, quota: 100_000, period: 'month' });
  const { key } = await createKeyLifecycle({ ...stores, clock, randomBytes }).create({
    projectId: 'team',
    planId: 'plan',
  });
  const upstream = createHttpUpstream({
    ...{ secrets: fixedSecrets('secret'), roleCredentials: undefined, clock },
  });
  const handler = createRouter({
    ...{ ...createRouterStores(options), catalog: createCatalog(models), upstream },
    ...{ log, clock, randomBytes },
  });
  const close = async () => {
    await provider.close();
    client.destroy();
    await table.close();
    await dynamo.close();
  };
  return { clock, units, waiting, lines, key, handler, close };
};

const until = async (isTrue: () => boolean) => {
  while (!isTrue()) await new Promise((resolve) => setTimeout(resolve, 1));
};

const PATHS = {
  chat: '/v1/chat/completions',
  messages: '/v1/messages',
  responses: '/v1/responses',
};

export type Billed = {
  protocol: CallerProtocolName;
  tokens: number;
  acceptsGzip: boolean;
  /** Seconds since the request before, in the same environment. */
  gap: number;
};

/** The units of a streamed request that takes two seconds or longer, on the Function URL. */
export const unitsOf = async ({ protocol, tokens, acceptsGzip, gap }: Billed): Promise<Units> => {
  const metered = await startMetered();
  const { clock, units, waiting, lines, key, handler } = metered;
  const spoken = protocol === 'messages' ? 'messages' : 'chat';
  const content = 'Please explain how a model router chooses a target.';
  const turns = [{ role: 'user', content }];
  const rest =
    protocol === 'responses'
      ? { input: turns }
      : { messages: turns, ...(protocol === 'messages' && { max_tokens: 9_000 }) };
  const ask = async (count: number) => {
    const body = { model: `vendor/${spoken}`, stream: true, ...rest };
    const event = functionUrl(PATHS[protocol], { key, body, acceptsGzip });
    const out = new PassThrough();
    const sent = buffer(out);
    const ended = handler(event as unknown as HttpEvent, out, {
      awsRequestId: '8f507cfc-1a2b-4697-b07a-ac58fc914c95',
      getRemainingTimeInMillis: () => 900_000,
    });
    await until(() => waiting.length > 0);
    const response = waiting.shift();
    response?.writeHead(200, { 'content-type': 'text/event-stream' });
    // Longer than a second, after which the line request_started is written.
    await new Promise((resolve) => setTimeout(resolve, 50));
    clock.advance(2_000);
    for (const text of streamOf(spoken, tokensOf(count))) {
      if (text === '') continue;
      response?.write(text);
      // A chunk of its own, as providers send tokens.
      await new Promise((resolve) => setTimeout(resolve, 1));
    }
    response?.end();
    await ended;
    return (await sent).byteLength;
  };
  try {
    await ask(5);
    clock.advance(gap * 1_000);
    const before = { ...units, line: lines.length };
    const bytesOut = await ask(tokens);
    // The record is written behind the response.
    await new Promise((resolve) => setTimeout(resolve, 50));
    return {
      writes: units.writes - before.writes,
      reads: units.reads - before.reads,
      logBytes: Buffer.byteLength(lines.slice(before.line).join('')),
      bytesOut,
    };
  } finally {
    await metered.close();
  }
};

/** List prices of docs/deploy.md in US dollars: of a million units, and of a gigabyte. */
const PRICES = { writes: 0.625, reads: 0.125, logs: 0.5, dataOut: 0.09, requests: 0.2 };
const GB_SECOND = 0.0000133334;
const MEMORY_GB = 0.25;

/** The bill of a million such requests of `seconds`. */
export const billOf = ({ writes, reads, logBytes, bytesOut }: Units, seconds: number) => {
  const lambda = 1e6 * MEMORY_GB * seconds * GB_SECOND + PRICES.requests;
  const dynamo = writes * PRICES.writes + reads * PRICES.reads;
  const logs = (logBytes / 1_000) * PRICES.logs;
  const dataOut = (bytesOut / 1_000) * PRICES.dataOut;
  return { lambda, dynamo, logs, dataOut, sum: lambda + dynamo + logs + dataOut };
};
