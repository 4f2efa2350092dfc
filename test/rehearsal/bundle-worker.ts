/**
 * A thread or a process that runs a shipped bundle as Lambda's runtime does, with a clock that is moved for each
 * invocation, and timers that may be slow. It imports nothing of the project but the bundle.
 */
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import { parentPort, workerData } from 'node:worker_threads';

type Invocation = {
  id: number;
  now: number;
  remainingMs: number;
  event: Record<string, unknown>;
};
type Handler = (event: unknown, ...rest: unknown[]) => Promise<unknown>;
type Prelude = { statusCode?: number };

const send = (message: object): void => {
  if (parentPort) parentPort.postMessage(message);
  else process.send?.(message);
};

const RealDate = Date;
let ahead = 0;
const now = () => RealDate.now() + ahead;
globalThis.Date = new Proxy(RealDate, {
  construct: (target, args) => Reflect.construct(target, args.length === 0 ? [now()] : args),
  get: (target, name) => (name === 'now' ? now : Reflect.get(target, name)),
});

process.stdout.write = (text: string | Uint8Array) => {
  send({ lines: String(text) });
  return true;
};

const statuses = new WeakMap<Writable, number>();
Object.assign(globalThis, {
  awslambda: {
    streamifyResponse: (handler: Handler) => handler,
    HttpResponseStream: {
      from: (stream: Writable, { statusCode = 200 }: Prelude) => {
        statuses.set(stream, statusCode);
        return stream;
      },
    },
  },
});

const given = workerData as { folder: string; slowness: number } | null;
const { folder, slowness } = given ?? { folder: process.argv[2] ?? '', slowness: 1 };
if (slowness !== 1) {
  const { setTimeout: realTimeout } = globalThis;
  const slow = (action: () => void, ms = 0) => realTimeout(action, ms * slowness);
  globalThis.setTimeout = Object.assign(slow, realTimeout);
}
const { handler } = createRequire(import.meta.url)(join(folder, 'index.cjs')) as {
  handler: Handler;
};

const serve = async ({ id, event, remainingMs }: Invocation) => {
  const context = {
    awsRequestId: `00000000-0000-4000-8000-${String(id).padStart(12, '0')}`,
    getRemainingTimeInMillis: () => remainingMs,
  };
  const chunks: Buffer[] = [];
  const out = new Writable({
    write: (chunk: Buffer, _encoding, done) => {
      chunks.push(chunk);
      done();
    },
  });
  // The admin function has no response stream.
  const isStreaming = 'rawPath' in event;
  const result = await (isStreaming ? handler(event, out, context) : handler(event, context));
  // Of the schedule's event the result is not read.
  const { statusCode, body } = { ...(result as { statusCode?: number; body?: string }) };
  if (!isStreaming) return { status: statusCode, text: body };
  return { status: statuses.get(out), text: Buffer.concat(chunks).toString() };
};

(parentPort ?? process).on('message', (invocation: Invocation) => {
  ahead = invocation.now - RealDate.now();
  const { id } = invocation;
  serve(invocation).then(
    ({ status, text }) => send({ id, status, text }),
    (error: unknown) => send({ id, error: String(error) }),
  );
});
