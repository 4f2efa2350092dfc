import { UnitSettled } from '#late/limit-errors';
import type { CheckedCall } from '../endpoints/check-call.ts';
import type { EncodedReply, Keeper, Reply, StreamReply } from '../endpoints/endpoint.ts';
import type { MessageBatches } from '../protocols/streams/sse.ts';
import type { AnswerStore, Fingerprint, Unit } from '../stores/answer-store.ts';
import type { Clock } from '../support/clock.ts';
import type { Log } from '../support/log.ts';
import type { Attempt } from './attempt.ts';
import { createKeeper } from './keeper.ts';
import { holdLease } from './lease.ts';
import { createRecording, type Recording } from './recording.ts';

/** Admits a checked call, generates its response and settles it; `keeper` stores the response on its way. */
export type Run = (checked: CheckedCall, keeper?: Keeper) => Promise<EncodedReply | StreamReply>;

/** A request that runs in this process, for its own caller and for repeats. */
export type Running = {
  owner: string;
  /** Id of the unit and of the response. */
  requestId: string;
  fingerprint: Fingerprint;
  /** The whole response, or the head of a stream whose messages are in `recording`. */
  opening: Promise<Reply>;
  recording: Recording;
};

export type OwnDeps = {
  answers: AnswerStore;
  /** By id of the attempt. */
  running: Map<string, Running>;
  clock: Clock;
  log: Log;
  keepMs: number;
};

/**
 * Reads a stream to its end, at its own pace; resolves with its first batch, which is recorded then unless
 * it is a heartbeat.
 */
const startDraining = async (messages: MessageBatches, end: () => Promise<void>) => {
  const drain = async () => {
    for await (const _ of messages);
  };
  await messages.next();
  drain()
    .finally(end)
    // A body generator never throws, and `end` neither.
    .catch(() => {});
};

/** Runs a request that its client does not abort: `Call.signal` is replaced. */
const detach = ({ checked, run, keeper }: { checked: CheckedCall; run: Run; keeper: Keeper }) => {
  const { signal } = new AbortController();
  return ({ requestId, startedAt: reservedAt }: Unit): ReturnType<Run> =>
    run({ ...checked, call: { ...checked.call, requestId, signal }, reservedAt }, keeper);
};

/**
 * Runs a claimed request. It runs to its end even if its client disconnects, because a caller who set a key will return
 * for the response. Without a stored response the claim is released.
 */
export const createOwn =
  ({ answers, running, clock, log, keepMs }: OwnDeps) =>
  (attempt: Attempt, unit: Unit, checked: CheckedCall, run: Run): Running => {
    const { id, fingerprint, hasEventIds } = attempt;
    const { protocol, requestId: owner } = checked.call;
    const recording = createRecording();
    const parts = { id, owner, recording, protocol, answers, clock, log, hasEventIds };
    const keeper = createKeeper({ ...parts, keepMs: attempt.keepMs ?? keepMs });
    const endLease = holdLease({ id, owner }, { answers, clock });

    const end = async (): Promise<void> => {
      endLease();
      // If this fails, the lease expires.
      if (!keeper.isKept()) await answers.release(id, owner, clock.now()).catch(() => {});
      // A later first attempt with the same body replaced it.
      if (running.get(id) === started) running.delete(id);
      recording.end();
    };
    const runOn = detach({ checked, run, keeper });
    const runOnAnother = async (): ReturnType<Run> => {
      const another = { requestId: owner, startedAt: clock.now() };
      // If this fails, the next owner does the same.
      await answers.reassign(id, owner, another).catch(() => false);
      started.requestId = owner;
      return runOn(another);
    };
    const open = async (): Promise<Reply> => {
      try {
        const reply = await runOn(unit).catch((error: unknown) => {
          // Of a dead owner that refunded its unit, in a minute that the meter has closed since.
          if (error instanceof UnitSettled && unit.requestId !== owner) return runOnAnother();
          throw error;
        });
        if (!('messages' in reply)) await end();
        else await startDraining(reply.messages, end);
        return reply;
      } catch (error) {
        await end();
        throw error;
      }
    };
    const opening = open();
    // Also awaited by the caller; a repeat may have disconnected.
    opening.catch(() => {});
    const started = { owner, requestId: unit.requestId, fingerprint, opening, recording };
    running.set(id, started);
    return started;
  };
