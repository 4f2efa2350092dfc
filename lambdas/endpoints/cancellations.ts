import type { Caller } from '../keys/authenticate.ts';
import { UpstreamError } from '../protocols/rejections/upstream-error.ts';
import type { RouterStores } from '../stores/router-stores.ts';
import { type Clock, pause } from '../support/clock.ts';
import { isRequestId } from '../support/ids.ts';
import type { Call } from './endpoint.ts';

/** Ends a response like a client that disconnects, but a client that is still connected gets an error. */
export class Cancelled extends UpstreamError {
  constructor() {
    super('aborted', 'the request was cancelled');
  }
}

export type Cancellations = ReturnType<typeof createCancellations>;

/** A generation that runs this long reads the table, and again after each such time: one read for all. */
const POLL_MS = 3_000;
/** A process that runs the generation has read the table by then. */
const ANSWERED_WITHIN_MS = 5_000;
const PAUSE_MS = 250;

type Running = { projectId: string; abort: ((reason: UpstreamError) => void) | undefined };

/** Runs `poll` every 3 s while it is needed. */
const createTimer = (clock: Clock, poll: () => Promise<void>) => {
  let stop: (() => void) | undefined;
  let isNeeded = false;
  const schedule = () => {
    // Also called at the end of a poll, after which a new one may be scheduled already.
    stop?.();
    stop = clock.after(POLL_MS, () => {
      poll().finally(() => {
        if (isNeeded) schedule();
      });
    });
  };
  return {
    start: () => {
      if (isNeeded) return;
      isNeeded = true;
      schedule();
    },
    stop: () => {
      isNeeded = false;
      stop?.();
    },
  };
};

const METERS_AT_ONCE = 25;

/** Whether a meter of the caller's project holds a unit of the request: every generation that runs has one. */
const createIsReserved =
  ({ keys, meters }: Pick<RouterStores, 'keys' | 'meters'>) =>
  async ({ projectId, meterId }: Caller, requestId: string): Promise<boolean> => {
    if (await meters.isReserved(meterId, requestId)) return true;
    const ids = [...new Set((await keys.listKeys(projectId)).map((key) => key.meterId))];
    for (let index = 0; index < ids.length; index += METERS_AT_ONCE) {
      const some = ids.slice(index, index + METERS_AT_ONCE);
      const found = await Promise.all(some.map((id) => meters.isReserved(id, requestId)));
      if (found.includes(true)) return true;
    }
    return false;
  };

/** The running generations of this process, and the cancellations of other processes. */
export const createCancellations = (
  parts: Pick<RouterStores, 'cancels' | 'keys' | 'meters'> & { clock: Clock },
) => {
  const { cancels: store, clock, ...stores } = parts;
  const isReserved = createIsReserved(stores);
  const running = new Map<string, Running>();

  const abortHere = (projectId: string, requestId: string): boolean => {
    const found = running.get(requestId);
    if (found?.projectId !== projectId) return false;
    found.abort?.(new Cancelled());
    return true;
  };

  const pollProject = async (projectId: string): Promise<void> => {
    const cancelled = await store.listCancels(projectId);
    const aborted = cancelled.filter((requestId) => abortHere(projectId, requestId));
    await Promise.all(aborted.map((requestId) => store.removeCancel(projectId, requestId)));
  };
  const timer = createTimer(clock, async () => {
    const projects = new Set([...running.values()].map(({ projectId }) => projectId));
    // A read that fails is repeated by the next poll.
    await Promise.allSettled([...projects].map(pollProject));
  });

  const isTaken = async (projectId: string, requestId: string): Promise<boolean> => {
    const end = clock.now() + ANSWERED_WITHIN_MS;
    while (clock.now() < end) {
      await pause(clock, PAUSE_MS);
      if (!(await store.listCancels(projectId)).includes(requestId)) return true;
    }
    return false;
  };

  return {
    /** Calls `abort` if the generation is cancelled, until the returned function is called. */
    watch: (
      { requestId, caller: { projectId } }: Pick<Call, 'requestId' | 'caller'>,
      abort: (reason: UpstreamError) => void,
    ): (() => void) => {
      const entry: Running = { projectId, abort };
      running.set(requestId, entry);
      timer.start();
      return () => {
        running.delete(requestId);
        // A map that has grown leaves its former table, with all that it held, to the next full collection.
        entry.abort = undefined;
        if (running.size === 0) timer.stop();
      };
    },
    /**
     * Ends a generation in any process; undefined if the project has no running one with this id. `cancelling`: an
     * earlier call waits for its process. One wait for an id, or repeated calls would hold an environment each.
     */
    cancel: async (
      caller: Caller,
      requestId: string,
    ): Promise<'cancelled' | 'cancelling' | undefined> => {
      const { projectId } = caller;
      if (abortHere(projectId, requestId)) return 'cancelled';
      if (!isRequestId(requestId) || !(await isReserved(caller, requestId))) return undefined;
      if (!(await store.addCancel(projectId, requestId, clock.now()))) return 'cancelling';
      if (await isTaken(projectId, requestId)) return 'cancelled';
      await store.removeCancel(projectId, requestId);
      return undefined;
    },
  };
};
