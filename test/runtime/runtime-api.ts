import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { finished } from 'node:stream/promises';
import * as z from 'zod';
import { listen } from '../../local/loopback.ts';

const Prelude = z.object({ statusCode: z.int(), headers: z.record(z.string(), z.string()) });

/** One invocation as the platform sees it. */
export type Invocation = {
  /** Status and headers, as soon as the function has sent them. */
  head: Promise<z.infer<typeof Prelude>>;
  /** What arrived of the body so far, a piece per chunk of HTTP, which is one write of the function. */
  pieces: string[];
  /** The same, as bytes. */
  chunks: Buffer[];
  /** Resolves with the text so far as soon as it contains `part`. */
  has(part: string): Promise<string>;
  /** The whole body, once the function has ended it. Rejects when it breaks off. */
  text: Promise<string>;
};

type Pending = {
  requestId: string;
  event: unknown;
  remainingMs: number;
  receive(incoming: IncomingMessage): Promise<void>;
};

export type RuntimeApi = {
  /** `host:port`, as the runtime client wants it. */
  address: string;
  invoke(event: unknown, options?: { remainingMs?: number }): Invocation;
  /** Errors that the function reported instead of an answer. */
  errors: string[];
  close(): Promise<void>;
};

const DELIMITER = Buffer.alloc(8);
const STREAMED = 'application/vnd.awslambda.http-integration-response';

/** Cuts the head off the first bytes; undefined while it is not complete. */
const splitPrelude = (bytes: Buffer) => {
  const end = bytes.indexOf(DELIMITER);
  if (end < 0) return undefined;
  const head = Prelude.parse(JSON.parse(bytes.subarray(0, end).toString()));
  return { head, rest: bytes.subarray(end + DELIMITER.length) };
};

const createInvocation = () => {
  const head = Promise.withResolvers<z.infer<typeof Prelude>>();
  const text = Promise.withResolvers<string>();
  // Not every test awaits both.
  for (const { promise } of [head, text]) promise.catch(() => {});
  const pieces: string[] = [];
  const chunks: Buffer[] = [];
  let waiting: (() => void)[] = [];
  const add = (piece: Buffer) => {
    if (piece.length > 0) {
      pieces.push(piece.toString());
      chunks.push(piece);
    }
    for (const look of waiting) look();
  };

  const receive = async (incoming: IncomingMessage): Promise<void> => {
    let early: Buffer | undefined = Buffer.alloc(0);
    // An iterator would join what arrives while this process waits for a core.
    incoming.on('data', (chunk: Buffer) => {
      if (!early) return add(chunk);
      early = Buffer.concat([early, chunk]);
      const split = splitPrelude(early);
      if (!split) return;
      early = undefined;
      head.resolve(split.head);
      add(split.rest);
    });
    await finished(incoming);
    const fault = incoming.trailers['lambda-runtime-function-error-type'];
    if (early || fault || incoming.headers['content-type'] !== STREAMED) {
      throw new Error(`The answer was not complete: ${fault ?? incoming.headers['content-type']}.`);
    }
    text.resolve(pieces.join(''));
  };

  const has = (part: string): Promise<string> =>
    new Promise((resolve) => {
      const look = () => {
        if (pieces.join('').includes(part)) resolve(pieces.join(''));
      };
      waiting = [...waiting, look];
      look();
    });
  const fail = (error: unknown) => {
    head.reject(error);
    text.reject(error);
  };
  const invocation: Invocation = { head: head.promise, text: text.promise, pieces, chunks, has };
  return {
    invocation,
    receive: (incoming: IncomingMessage) => receive(incoming).catch(fail),
  };
};

/** The part of the Runtime API that AWS's client uses: next, response, error, and init error. */
export const startRuntimeApi = async (): Promise<RuntimeApi> => {
  const queue: Pending[] = [];
  const polls: ServerResponse[] = [];
  const running = new Map<string, Pending>();
  const errors: string[] = [];
  let count = 0;

  const deliver = () => {
    while (queue.length > 0 && polls.length > 0) {
      const pending = queue.shift();
      const poll = polls.shift();
      if (!pending || !poll) return;
      running.set(pending.requestId, pending);
      poll
        .writeHead(200, {
          'content-type': 'application/json',
          'lambda-runtime-aws-request-id': pending.requestId,
          'lambda-runtime-deadline-ms': String(Date.now() + pending.remainingMs),
          'lambda-runtime-invoked-function-arn': 'arn:aws:lambda:us-east-1:0:function:router',
        })
        .end(JSON.stringify(pending.event));
    }
  };

  const answer = async (incoming: IncomingMessage, response: ServerResponse): Promise<void> => {
    const [, id, verb] = /\/invocation\/([^/]+)\/(response|error)$/.exec(incoming.url ?? '') ?? [];
    if (verb === 'response') await running.get(id ?? '')?.receive(incoming);
    else errors.push(Buffer.concat(await incoming.toArray()).toString());
    response.writeHead(202).end();
  };

  const server = createServer((incoming, response) => {
    if (incoming.method === 'GET') {
      polls.push(response);
      deliver();
      return;
    }
    void answer(incoming, response);
  });
  const { url, close } = await listen(server);
  return {
    address: new URL(url).host,
    errors,
    close,
    invoke: (event, { remainingMs = 900_000 } = {}) => {
      const { invocation, receive } = createInvocation();
      count += 1;
      queue.push({
        requestId: `00000000-0000-4000-8000-${String(count).padStart(12, '0')}`,
        event,
        remainingMs,
        receive,
      });
      deliver();
      return invocation;
    },
  };
};
