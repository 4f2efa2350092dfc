import { failureOf } from '#late/responses';
import type { Events } from '#late/webhooks';
import type { Call, Endpoint, Reply } from '../endpoints/endpoint.ts';
import { asString, type Json } from '../protocols/bytes/json.ts';
import {
  formatSse,
  type MessageBatches,
  type SseMessage,
  withHeartbeat,
} from '../protocols/streams/sse.ts';
import type { ResponseKey, ResponseStore } from '../stores/response-store.ts';
import type { Clock } from '../support/clock.ts';
import { apiError, toApiError } from '../support/errors.ts';
import type { Log } from '../support/log.ts';
import { isEnd } from './follow.ts';
import { responseIn } from './mark.ts';
import { pack, withStore } from './stored.ts';

/** An owner that has not renewed for so long is dead; several failed renewals and the skew of clocks fit in. */
const LEASE_MS = 30_000;
/** New text of a stream is stored so often, */
const PIECE_MS = 2_000;
/** and the lease of a silent response is renewed after so many of those times. */
const RENEW_EVERY = 4;
/** Of the text that is left at the end; the response itself is stored without it, too. */
const LAST_WRITES = 3;

export type BackgroundDeps = {
  responses: ResponseStore;
  /** For projects with a webhook. */
  events(): Pick<Events, 'owe' | 'deliver'>;
  generate: Endpoint;
  clock: Clock;
  log: Log;
};

export type Job = {
  key: ResponseKey;
  /** The request, streamed, that its client does not abort. */
  call: Call;
  /** As it is stored and sent at once. */
  queued: Json;
  input: string;
  before: string[];
  isStream: boolean;
};

const lost = () => apiError('The response ended without its last event.');

const failed = (queued: Json, error: unknown): Json => ({
  ...queued,
  status: 'failed',
  error: failureOf(toApiError(error)),
});

/** Stores the text of a stream piece by piece, and holds the lease, until `end`. */
const createPieces = ({ key, isStream }: Job, { responses, clock }: BackgroundDeps) => {
  let waiting: string[] = [];
  /** Of the piece that is being stored: a repeat has the same, which a reader may have read. */
  let piece = '';
  let [pieces, silent] = [0, 0];
  let isOver = false;
  let cancel = () => {};
  let working: Promise<void> = Promise.resolve();

  const write = async (): Promise<void> => {
    const leaseUntil = clock.now() + LEASE_MS;
    // Announced first: the deletion of the response removes each piece that can be written.
    const isRunning = await responses.renew(key.key, { leaseUntil, pieces });
    if (!isRunning) isOver = true;
    else if (piece !== '') await responses.putPiece(key, pieces - 1, pack(piece));
    piece = '';
  };
  const flush = async (isDue = false): Promise<void> => {
    if (piece === '' && waiting.length > 0) {
      piece = waiting.join('');
      waiting = [];
      pieces += 1;
    }
    silent += 1;
    if (isOver || (piece === '' && !isDue && silent < RENEW_EVERY)) return;
    silent = 0;
    // What fails is repeated with the next one.
    await write().catch(() => undefined);
  };
  const work = (isDue?: boolean) => {
    working = working.then(() => flush(isDue));
    return working;
  };
  const schedule = () => {
    if (!isOver) cancel = clock.after(PIECE_MS, () => void work().then(schedule));
  };
  return {
    begin: () => void work(true).then(schedule),
    add: (text: string) => {
      if (isStream) waiting.push(text);
    },
    /** Stores the rest: a piece that failed, what came after it, and one of both again. */
    end: async () => {
      await working;
      cancel();
      const isLeft = () => !isOver && (piece !== '' || waiting.length > 0);
      for (let writes = 0; writes < LAST_WRITES && isLeft(); writes += 1) await work();
      isOver = true;
    },
  };
};

const endIn = (messages: SseMessage[]): Json | undefined => {
  const last = messages.findLast((one) => 'event' in one && isEnd(one));
  return last && responseIn(last);
};

/** Its place has the response that is sent at once. */
const isCreated = (message: SseMessage): boolean =>
  'event' in message && message.event === 'response.created';

/** The text of a job on its way to its first client. */
const createLive = () => {
  let texts: string[] = [];
  let [hasEnded, hasLeft] = [false, false];
  let ring = () => {};
  async function* read(): MessageBatches {
    for (;;) {
      const text = texts.join('');
      texts = [];
      if (text !== '') yield [{ text }];
      else if (hasEnded) return;
      else {
        await new Promise<void>((resolve) => {
          ring = resolve;
        });
      }
    }
  }
  return {
    read,
    add: (text: string) => {
      if (hasLeft) return;
      texts.push(text);
      ring();
    },
    end: () => {
      hasEnded = true;
      ring();
    },
    leave: () => {
      hasLeft = true;
      texts = [];
    },
  };
};
type Live = ReturnType<typeof createLive>;

const eventOf = (type: string, response: Json, number: number): SseMessage => ({
  event: type,
  data: JSON.stringify({ type, response, sequence_number: number }),
});

type Listener = { live: Live; onAdmitted(): void; onFailure(error: unknown): void };

/** Runs a job to its end, which is stored. Never rejects: if it was not admitted, `onFailure` gets the error. */
const runJob = async (
  job: Job,
  deps: BackgroundDeps,
  { live, onAdmitted, onFailure }: Listener,
): Promise<void> => {
  const { call, key, queued } = job;
  const pieces = createPieces(job, deps);
  let isAdmitted = false;
  const put = (messages: SseMessage[]) => {
    const text = messages.map(formatSse).join('');
    if (text === '') return;
    live.add(text);
    pieces.add(text);
  };
  const admitted = () => {
    isAdmitted = true;
    pieces.begin();
    onAdmitted();
  };
  const run = async (): Promise<Json> => {
    const reply = await deps.generate({ ...call, onAdmitted: admitted });
    let ended: Json | undefined;
    for await (const batch of 'messages' in reply ? reply.messages : []) {
      const events = batch.filter((message) => 'data' in message && !isCreated(message));
      ended = endIn(events) ?? ended;
      put(events);
    }
    if (!ended) throw lost();
    return ended;
  };
  put([eventOf('response.created', queued, 0)]);
  const ended = await run().catch((error: unknown) => {
    const response = failed(queued, error);
    put([eventOf('response.failed', response, 1)]);
    if (!isAdmitted) onFailure(error);
    return response;
  });
  if (isAdmitted) {
    await pieces.end();
    const response = pack(JSON.stringify(ended));
    // If this fails, the lease expires, and the response with it.
    await deps.responses.end(key, response, { now: deps.clock.now() }).catch(() => {
      deps.log.warn('answer_not_stored', { requestId: call.requestId });
    });
  }
  live.end();
};

async function* asMessages({ live, done }: { live: Live; done: Promise<void> }): MessageBatches {
  try {
    yield* live.read();
  } finally {
    live.leave();
    // However early its client leaves: the platform freezes the process once this ends.
    await done;
  }
}

/**
 * Starts a job, which outlives its connection, and replies with the queued response, or with the stream of the job.
 * @throws ApiError of a request that is not admitted, or 503
 */
export const startJob = async (job: Job, deps: BackgroundDeps): Promise<Reply> => {
  const { key, queued, input, before, isStream, call } = job;
  const { responses, clock } = deps;
  const events = deps.events();
  const json = JSON.stringify(queued);
  const event = { projectId: call.caller.projectId, responseId: asString(queued.id) ?? '' };
  const leaseUntil = clock.now() + LEASE_MS;
  const state = { leaseUntil, hasBegun: false, isBackground: true, isStream, pieces: 0 };
  const stored = { ...state, before, input: pack(input), response: pack(json) };
  const [, isOwed] = await withStore(() =>
    Promise.all([responses.create(key, stored), events.owe(event)]),
  );
  const admission = Promise.withResolvers<void>();
  const live = createLive();
  const { resolve: onAdmitted, reject: onFailure } = admission;
  const running = runJob(job, deps, { live, onAdmitted, onFailure });
  const done = isOwed ? running.then(() => events.deliver(event)) : running;
  try {
    await admission.promise;
  } catch (error) {
    await responses.remove(key.key).catch(() => false);
    throw error;
  }
  if (!isStream) return { status: 200, json, after: done };
  const { heartbeat } = call.protocol;
  const messages = asMessages({ live, done });
  return { status: 200, messages: withHeartbeat(messages, heartbeat, clock) };
};
