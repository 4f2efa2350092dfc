/**
 * The process in which guard.ts compares two bundles: loads both, sends the same events to each by turns, and
 * reports the CPU of each batch. Its stdout, the log of both, is discarded.
 */
import { createRequire } from 'node:module';
import { Writable } from 'node:stream';
import { CASES } from './cases.ts';

type Handler = (event: object, body: Writable, context: object) => Promise<void>;
type Stage = { name: string; batch: number; event: object };

const ROUNDS = 12;
const [, , key = '', ...files] = process.argv;

Object.assign(globalThis, {
  awslambda: {
    streamifyResponse: (handler: Handler) => handler,
    HttpResponseStream: { from: (stream: Writable) => stream },
  },
});

const eventOf = (method: string, path: string, body?: string) => ({
  version: '2.0',
  rawPath: path,
  rawQueryString: '',
  headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
  requestContext: { http: { method, path, sourceIp: '192.0.2.1' }, requestId: 'bench' },
  ...(body !== undefined && { body }),
  isBase64Encoded: false,
});

const agent = CASES.find(({ name }) => name === 'agent body 29 KB, translated');

/** From the shortest way through the router to the longest: the first row that grew names the stage. */
const STAGES: Stage[] = [
  { name: 'key and plan (GET /v1/models)', batch: 100, event: eventOf('GET', '/v1/models') },
  {
    name: 'decoding and estimate (count_tokens, 29 KB)',
    batch: 20,
    event: eventOf('POST', '/v1/messages/count_tokens', agent?.body),
  },
  ...CASES.map(({ name, path, body, events }) => ({
    name: `generation: ${name}`,
    batch: Math.max(1, Math.min(20, Math.floor(1_000 / events), Math.floor(1e6 / body.length))),
    event: eventOf('POST', path, body),
  })),
];

const send = async (handler: Handler, event: object): Promise<void> => {
  let bytes = 0;
  const body = new Writable({
    write: (chunk: Buffer, _encoding, done) => {
      bytes += chunk.length;
      done();
    },
  });
  await handler(event, body, { awsRequestId: 'a', getRemainingTimeInMillis: () => 900_000 });
  if (bytes === 0) throw new Error('The router sent no body.');
};

/** Microseconds of CPU of one request. */
const costOf = async (handler: Handler, { batch, event }: Stage): Promise<number> => {
  const before = process.cpuUsage();
  for (let count = 0; count < batch; count += 1) await send(handler, event);
  const { user, system } = process.cpuUsage(before);
  return (user + system) / batch;
};

const require = createRequire(import.meta.url);
const handlers = files.map((file): Handler => require(file).handler);
const samples: Record<string, number[][]> = Object.fromEntries(
  STAGES.map(({ name }) => [name, []]),
);
for (let round = 0; round < ROUNDS + 2; round += 1) {
  for (const stage of STAGES) {
    const costs: number[] = [];
    for (const handler of handlers) costs.push(await costOf(handler, stage));
    // The first two rounds compile the code.
    if (round >= 2) samples[stage.name]?.push(costs);
  }
}
process.send?.({ samples });
