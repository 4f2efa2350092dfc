/** Two ways to handle a request, compared in one process by turns, so that a busy machine slows both. */
import { createRequire } from 'node:module';
import { Writable } from 'node:stream';

type Handler = (event: object, body: Writable, context: object) => Promise<void>;
export type Side = { handler: Handler; event: object };
/** A load: so many requests are sent to one side before those to the other. */
export type Stage = { name: string; batch: number; sides: [Side, Side] };
/** Microseconds of CPU of a request on each side, by stage and round. */
export type Samples = Record<string, [number, number][]>;

/** The first rounds compile the code. */
const WARM_ROUNDS = 2;

Object.assign(globalThis, {
  awslambda: {
    streamifyResponse: (handler: Handler) => handler,
    HttpResponseStream: { from: (stream: Writable) => stream },
  },
});

const require = createRequire(import.meta.url);
/** The handler of a function's bundle. */
export const handlerOf = (file: string): Handler => require(file).handler;

export const eventOf = (
  method: string,
  path: string,
  { body, headers }: { body?: string; headers: Record<string, string> },
) => ({
  version: '2.0',
  rawPath: path,
  rawQueryString: '',
  headers: { 'content-type': 'application/json', ...headers },
  requestContext: { http: { method, path, sourceIp: '192.0.2.1' }, requestId: 'bench' },
  ...(body !== undefined && { body }),
  isBase64Encoded: false,
});

const send = async ({ handler, event }: Side): Promise<void> => {
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

const costOf = async (side: Side, batch: number): Promise<number> => {
  const before = process.cpuUsage();
  for (let count = 0; count < batch; count += 1) await send(side);
  const { user, system } = process.cpuUsage(before);
  return (user + system) / batch;
};

/** What one side leaves to collect falls to the other as often as to itself. */
const costsOf = async ({ batch, sides }: Stage, isReverse: boolean): Promise<[number, number]> => {
  const [one, other] = sides;
  if (!isReverse) return [await costOf(one, batch), await costOf(other, batch)];
  const cost = await costOf(other, batch);
  return [await costOf(one, batch), cost];
};

export const measure = async (stages: Stage[], rounds: number): Promise<Samples> => {
  const samples: Samples = Object.fromEntries(stages.map(({ name }) => [name, []]));
  for (let round = -WARM_ROUNDS; round < rounds; round += 1) {
    for (const stage of stages) {
      const costs = await costsOf(stage, round % 2 === 0);
      if (round >= 0) samples[stage.name]?.push(costs);
    }
  }
  return samples;
};

/** A busy machine only adds to what a request costs. */
const lowerQuartile = (costs: number[]): number =>
  costs.toSorted((one, other) => one - other)[Math.floor(costs.length / 4)] ?? Number.NaN;

/** Prints a row of each stage, marked where the second side costs more than `most` times the first. */
export const print = (samples: Samples, names: [string, string], most: number): void => {
  const line = (cells: string[]) =>
    console.log(cells.map((cell, index) => (index ? cell.padStart(12) : cell.padEnd(50))).join(''));
  line(['us of CPU a request', ...names, 'ratio']);
  for (const [name, costs] of Object.entries(samples)) {
    const columns = [0, 1].map((side) => lowerQuartile(costs.map((pair) => pair[side] ?? 0)));
    const ratio = (columns[1] ?? 0) / (columns[0] ?? 1);
    const mark = ratio > most ? ' grown' : '';
    line([name, ...columns.map((column) => column.toFixed(0)), ratio.toFixed(3) + mark]);
  }
};
