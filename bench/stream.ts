/**
 * CPU per streamed event of the whole pipe, from the upstream's bytes to the caller's, for the four pairs
 * of protocols: SSE, decoder, failover, origin tags, usage, encoder, heartbeat, settlement,
 * body. Sockets and the idle limit are left out. One event per network chunk is the worst case and the usual one: providers
 * flush each token. The third column is for requests with an idempotency key, whose responses are recorded and
 * compressed; the table is left out too. The last is for clients that accept gzip: each chunk takes a turn of a thread, which is
 * most of what it adds. Run it with `npm run bench:stream`. Ratios hold on any machine, microseconds do not.
 *
 * To compare with another commit, copy this file and event-cost.ts into a worktree of it and run it there.
 */
import '../lambdas/web/lambda-runtime.ts';
import { Writable } from 'node:stream';
import { createCatalog } from '../lambdas/catalog/catalog.ts';
import type { Call } from '../lambdas/endpoints/endpoint.ts';
import { createFetchAnswer } from '../lambdas/endpoints/fetch-answer.ts';
import { createGenerate } from '../lambdas/endpoints/generate.ts';
import { format } from '../lambdas/http/middleware/write-reply.ts';
import { writeResponse } from '../lambdas/http/write-response.ts';
import type { Meter } from '../lambdas/metering/meter.ts';
import { chat } from '../lambdas/protocols/chat/index.ts';
import { messages } from '../lambdas/protocols/messages/index.ts';
import { createReplay } from '../lambdas/replay/replay.ts';
import { createCalibrations } from '../lambdas/routing/calibrations.ts';
import { createFailover } from '../lambdas/routing/failover.ts';
import { createLessons } from '../lambdas/routing/lessons.ts';
import type { AnswerStore } from '../lambdas/stores/answer-store.ts';
import { systemClock } from '../lambdas/support/clock.ts';
import { readAnswer } from '../lambdas/upstreams/read-answer.ts';
import type { Upstream } from '../lambdas/upstreams/upstream.ts';
import { modelOn, targetAt } from '../test/support/models.ts';
import { BODY, costPerEvent, print, recordChunks } from './event-cost.ts';

type BenchProtocol = typeof chat | typeof messages;
const PROTOCOLS: BenchProtocol[] = [chat, messages];

const EVENTS_PER_CHUNK = [1, 8];

async function* network(chunks: Buffer[]): AsyncGenerator<Buffer> {
  yield* chunks;
}

/** An upstream that reads `chunks` instead of a socket. */
const createUpstream = (chunks: Buffer[]): Upstream => ({
  prefetch: () => undefined,
  credentialVersion: () => undefined,
  open: async (call) => {
    const headers = { 'content-type': 'text/event-stream' };
    return readAnswer({ headers, chunks: network(chunks) }, call, {
      onContent: () => undefined,
      complete: () => undefined,
      close: () => undefined,
      errorOf: (error) => error,
      clock: systemClock,
    });
  },
});

const doNothing = async () => undefined;

/** A table that is never slow. */
const answers: AnswerStore = {
  claim: async () => ({ isOwned: true }),
  replace: doNothing,
  takeOver: async () => true,
  reassign: async () => true,
  find: doNothing,
  renew: async () => true,
  finish: async () => true,
  release: doNothing,
};

const createEndpoint = (from: BenchProtocol, chunks: Buffer[]) => {
  const breaker = {
    order: <Each>(targets: Each[]) => targets,
    acquire: async () => ({ isOpen: false as const, permit: doNothing }),
    acquireLast: () => undefined,
  };
  const failover = createFailover({ breaker });
  const limit = { limit: 10, remaining: 9, resetAt: 0 };
  const log = { info: () => undefined, warn: () => undefined, error: () => undefined };
  const unit = {
    charge: async () => true,
    refund: doNothing,
    withdraw: doNothing,
    finished: doNothing,
  };
  const meter: Meter = {
    admit: async (_, requestId, options) => {
      options?.onRoom?.();
      return {
        unit: { meterId: 'meter', requestId, minute: 0, period: '1970-01' },
        limits: { requests: limit, quota: limit },
        ...unit,
      };
    },
    changeLease: async () => undefined,
    admitFree: doNothing,
    usage: () => Promise.reject(new Error('not measured')),
  };
  return createGenerate({
    catalog: createCatalog([modelOn([targetAt('http://127.0.0.1', { protocol: from.name })])]),
    calibrations: createCalibrations({
      store: { readReceipts: async () => [], writeReceipts: async () => undefined },
      clock: systemClock,
    }),
    lessons: createLessons({
      store: { readLessons: async () => ({}), writeLesson: async () => undefined },
      clock: systemClock,
      log,
    }),
    replay: createReplay({
      openAnswers: () => answers,
      meter,
      clock: systemClock,
      log,
      keepMs: 1_000,
    }),
    meter,
    prefetched: [],
    fetchAnswer: createFetchAnswer({
      upstream: createUpstream(chunks),
      failover,
      cancellations: { watch: () => () => undefined, cancel: async () => undefined },
      clock: systemClock,
      log,
    }),
    recorder: { record: doNothing },
    clock: systemClock,
  });
};

const callOf = (
  protocol: BenchProtocol,
  { signal, isKeyed }: { signal: AbortSignal; isKeyed: boolean },
): Call => ({
  requestId: `req_${'x'.repeat(24)}`,
  awsRequestId: undefined,
  traceparent: undefined,
  startedAt: 0,
  notes: {},
  protocol,
  caller: {
    keyId: 'key',
    projectId: 'project',
    meterId: 'meter',
    plan: { id: 'plan', rpm: 10, quota: 10, period: 'day' },
  },
  body: BODY,
  source: { raw: '', bytes: 100, nodes: [], value: {} },
  headers: {},
  header: (name) => (isKeyed && name === 'idempotency-key' ? 'one' : undefined),
  pathParameter: undefined,
  query: {},
  signal,
  remainingMs: () => 900_000,
  note: () => undefined,
});

type Load = { chunks: Buffer[]; isKeyed?: boolean; isGzip?: boolean };

/** Sends one request through the endpoint and reads its body to the end. */
const respond = async (
  from: BenchProtocol,
  to: BenchProtocol,
  { chunks, isKeyed = false, isGzip = false }: Load,
): Promise<number> => {
  const { signal } = new AbortController();
  const reply = await createEndpoint(from, chunks)(callOf(to, { signal, isKeyed }));
  if (!('messages' in reply)) throw new Error('expected a stream');
  let bytes = 0;
  const texts = format(reply.messages, (error) => {
    throw error;
  });
  if (!isGzip) {
    for await (const text of texts) bytes += text.length;
    return bytes;
  }
  const socket = new Writable({
    write: (chunk: Buffer, _, done) => {
      bytes += chunk.length;
      done();
    },
  });
  const headers = { 'content-encoding': 'gzip' };
  await writeResponse(socket, { statusCode: 200, headers, body: texts });
  return bytes;
};

print('upstream -> caller     events per chunk   us/event  with a key   with gzip');
for (const eventsPerChunk of EVENTS_PER_CHUNK) {
  for (const from of PROTOCOLS) {
    const chunks = recordChunks(from, eventsPerChunk);
    for (const to of PROTOCOLS) {
      const costs = [];
      for (const load of [{}, { isKeyed: true }, { isGzip: true }]) {
        costs.push(await costPerEvent(() => respond(from, to, { chunks, ...load })));
      }
      const cells = costs.map((cost) => cost.toFixed(2).padStart(11)).join(' ');
      print(`${from.name} -> ${to.name}`.padEnd(22) + String(eventsPerChunk).padStart(17) + cells);
    }
  }
}
