import type {
  RecordStore,
  Refusal,
  RefusalBatch,
  RefusedRequest,
  RequestRecord,
} from '../stores/record-store.ts';
import { type Clock, dayOf, MINUTE_MS, minuteOf, tryFor, withTimeout } from '../support/clock.ts';
import type { ApiError } from '../support/errors.ts';
import { newRequestId, type RandomBytes, suffixOf } from '../support/ids.ts';
import type { Log } from '../support/log.ts';
import { createLruCache } from '../support/memo.ts';
import { omitUndefined } from '../support/objects.ts';
import { hashWho, type ReadWhoKey } from './hash-who.ts';
import type { Seal } from './seal.ts';

/** A write takes a few milliseconds. Later, the response has ended and the platform waits for nothing else. */
const WRITE_TIMEOUT_MS = 1_000;

/** Batches whose write failed, which are repeated with the next one; older ones are dropped. */
const MAX_PENDING = 20;

type CountedRefusal = Omit<Refusal, 'count'> & { projectId: string };

type RefusalCounts = {
  /** Counts one refusal, and writes what is due. Never throws. */
  add(refused: CountedRefusal, timeoutMs: number): Promise<void>;
  /** Writes counts that are older than a minute. Never throws. */
  flush(timeoutMs: number): Promise<void>;
};

type Counted = Omit<RefusalBatch, 'id'> & { since: number };

/**
 * Counts refusals in memory. The first of a project is written at once and those of the following minute
 * together, so that a flood of 429s costs one write a minute and environment. A timer writes those that no later
 * request writes. An environment that ends takes the counts of its last minute with it: they are a lower bound.
 */
const createRefusalCounts = (parts: {
  store: Pick<RecordStore, 'putRefusals'>;
  clock: Clock;
  randomBytes: RandomBytes;
}): RefusalCounts => {
  const { store, clock, randomBytes } = parts;
  const counted = new Map<string, Counted>();
  let pending: RefusalBatch[] = [];
  let isArmed = false;
  const writtenAt = new Map<string, number>();

  const entryOf = (projectId: string): Counted => {
    const now = clock.now();
    const day = dayOf(now);
    const name = `${projectId}|${day}`;
    const known = counted.get(name);
    if (known) return known;
    const since = writtenAt.get(projectId) ?? Number.NEGATIVE_INFINITY;
    const entry = { since, projectId, day, refusals: [] };
    counted.set(name, entry);
    return entry;
  };

  const takeDue = (): RefusalBatch[] => {
    const now = clock.now();
    const due = [...counted].filter(([, { since }]) => now - since >= MINUTE_MS);
    for (const [name, { projectId }] of due) {
      counted.delete(name);
      writtenAt.set(projectId, now);
    }
    for (const [projectId, since] of writtenAt) {
      if (now - since >= MINUTE_MS) writtenAt.delete(projectId);
    }
    // The id has the time of the write: a run of the history reads on from the last it has read.
    return due.map(([, { projectId, day, refusals }]) => ({
      id: suffixOf(newRequestId(randomBytes, now)),
      ...{ projectId, day, refusals },
    }));
  };

  const writeAll = async (due: RefusalBatch[], timeoutMs: number): Promise<void> => {
    const batches = [...pending, ...due];
    pending = [];
    const write = async (batch: RefusalBatch) => {
      try {
        await store.putRefusals(batch);
      } catch {
        // Repeated with the same id: the failed write may have been applied.
        pending = [...pending, batch].slice(-MAX_PENDING);
      }
    };
    await withTimeout(clock, timeoutMs, Promise.all(batches.map(write)));
  };

  const flush = async (timeoutMs: number): Promise<void> => {
    const due = takeDue();
    // Repeats are as rare as first writes: an unavailable table is not asked for every refusal.
    if (due.length > 0) await writeAll(due, timeoutMs);
  };

  const arm = (): void => {
    if (isArmed || counted.size + pending.length === 0) return;
    isArmed = true;
    clock.after(MINUTE_MS, () => {
      isArmed = false;
      void writeAll(takeDue(), WRITE_TIMEOUT_MS).then(arm);
    });
  };

  return {
    flush,
    add: async ({ projectId, ...refused }, timeoutMs) => {
      const { refusals } = entryOf(projectId);
      const { keyId, model, status } = refused;
      const same = refusals.find(
        (one) => one.keyId === keyId && one.model === model && one.status === status,
      );
      if (same) same.count += 1;
      else refusals.push({ ...refused, count: 1 });
      await flush(timeoutMs);
      arm();
    },
  };
};

/** Of a key and minute, and of all requests without a known key with one status: an environment counts those above it. */
const RECORDED_PER_MINUTE = 10;
const MAX_KEYS = 1_000;

/** A request that is rejected or denied before it takes a unit. */
export type Refused = Omit<RefusedRequest, 'day' | 'projectId' | 'status' | 'text'> & {
  projectId?: string | undefined;
  error: ApiError;
  /** Undefined if the history has no place for it: its key is not known, or it is not a generation. */
  counted: CountedRefusal | undefined;
};

const PATH = /^[\w.[\]-]{1,100}$/;
/** Of a model; a key is longer. */
const NAME = /^[\w.:@/-]{1,40}$/;
const MAX_TEXT = 300;

/** A message without what it quotes of the request, unless that is the name of a model. */
const textOf = ({ message, code }: ApiError): string =>
  message
    .replace(/'([^']*)'/g, (quoted, text: string) =>
      code === 'model_not_found' && NAME.test(text) ? quoted : "'…'",
    )
    .slice(0, MAX_TEXT)
    .toWellFormed();

const recordOf = ({ projectId = '', error, counted: _, ...rest }: Refused): RefusedRequest => {
  const { status, code, param, rule = {}, headers } = error;
  const retryAfter = Number(headers['retry-after']);
  return {
    ...rest,
    day: dayOf(rest.startedAt),
    projectId,
    status,
    text: textOf(error),
    ...omitUndefined({
      code,
      param: param !== undefined && PATH.test(param) ? param : undefined,
      rule: rule.name,
      limit: rule.limit,
      value: rule.value,
      retryAfter: retryAfter > 0 ? retryAfter : undefined,
    }),
  };
};

/** Keeps why requests were refused, behind their responses. */
export type Refusals = {
  refuse(refused: Refused): void;
  /** Writes counts that are older than a minute. Never throws. */
  flush: RefusalCounts['flush'];
  /** What is being written; undefined if it is nothing, so that other requests pay nothing. */
  writing(): Promise<unknown> | undefined;
};

/**
 * A flood costs at most `RECORDED_PER_MINUTE` writes a key and one a project in a minute and environment, and as many for
 * each status without a key.
 */
export const createRefusals = (parts: {
  store: Pick<RecordStore, 'putRefusals' | 'putRefused'>;
  clock: Clock;
  randomBytes: RandomBytes;
}): Refusals => {
  const { store, clock } = parts;
  const counts = createRefusalCounts(parts);
  const recorded = createLruCache<{ minute: number; count: number }>(MAX_KEYS);
  const pending = new Set<Promise<unknown>>();

  const hold = (writing: Promise<unknown>): void => {
    pending.add(writing);
    const forget = () => pending.delete(writing);
    writing.then(forget, forget);
  };

  const isDue = (name: string): boolean => {
    const minute = minuteOf(clock.now());
    const last = recorded.get(name);
    const count = last?.minute === minute ? last.count + 1 : 1;
    recorded.set(name, { minute, count });
    return count <= RECORDED_PER_MINUTE;
  };

  return {
    flush: counts.flush,
    refuse: (refused) => {
      const { keyId, error, counted } = refused;
      if (counted) hold(counts.add(counted, WRITE_TIMEOUT_MS));
      const { status } = error;
      // A failure is explained by its log line, and 499 is a request that its client cancelled.
      if (status < 400 || status >= 499 || !isDue(keyId ?? String(status))) return;
      // A record that is lost is a 404 of its id; the count has it.
      const writing = store.putRefused(recordOf(refused)).catch(() => {});
      hold(withTimeout(clock, WRITE_TIMEOUT_MS, writing));
    },
    writing: () => (pending.size === 0 ? undefined : Promise.all(pending)),
  };
};

/** Keeps what happened to requests. Never throws: a failed write is logged and counted. */
export type Recorder = {
  /** Writes the record of a request that took a unit, with the hashes of its parts, also in a later `revision` of it. */
  record(record: RequestRecord, revision: number, parts?: Uint16Array): Promise<void>;
};

export const createRecorder = (options: {
  store: Pick<RecordStore, 'putRecord'>;
  refusals: Pick<Refusals, 'flush'>;
  clock: Clock;
  log: Log;
  seal: Seal;
  /** @default none: for whom a request was is kept as it was sent */
  readWhoKey?: ReadWhoKey | undefined;
}): Recorder => {
  const { store, refusals, clock, log, seal, readWhoKey } = options;
  const put = async (entry: RequestRecord, revision: number, parts: Uint16Array | undefined) => {
    const { who, projectId } = entry;
    const kept = { ...entry };
    const sealed = parts && (await seal(entry.id, parts));
    if (sealed) kept.sealed = sealed;
    if (who && readWhoKey) kept.who = await hashWho(who, projectId, readWhoKey);
    await store.putRecord(kept, revision);
  };

  const write = async (entry: RequestRecord, revision: number, parts: Uint16Array | undefined) => {
    const written = await tryFor(clock, WRITE_TIMEOUT_MS, put(entry, revision, parts));
    if (!written) log.error('record_write_failed', { requestId: entry.id });
  };

  return {
    record: async (entry, revision, parts) => {
      await Promise.all([write(entry, revision, parts), refusals.flush(WRITE_TIMEOUT_MS)]);
    },
  };
};
