import type { RecordStore, RefusedRequest } from '../stores/record-store.ts';
import { type Clock, dayOf, minuteOf, withTimeout } from '../support/clock.ts';
import type { ApiError } from '../support/errors.ts';
import type { RandomBytes } from '../support/ids.ts';
import { createLruCache } from '../support/lru-cache.ts';
import { omitUndefined } from '../support/omit-undefined.ts';
import {
  type CountedRefusal,
  createRefusalCounts,
  type RefusalCounts,
  WRITE_TIMEOUT_MS,
} from './refusal-counts.ts';

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
