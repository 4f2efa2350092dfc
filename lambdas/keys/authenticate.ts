import { timingSafeEqual } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import type { KeyLimits, KeyRecord, KeyStore } from '../stores/key-store.ts';
import type { Plan, PlanStore } from '../stores/plan-store.ts';
import { LONGEST_READ_MS, StoreUnavailable, UnreadableItem } from '../stores/store-unavailable.ts';
import { type Clock, HOUR_MS, withTimeout } from '../support/clock.ts';
import { type ApiError, retryLater, toApiError, unauthenticated } from '../support/errors.ts';
import type { Log } from '../support/log.ts';
import { createHidden, createLruCache, oncePer } from '../support/memo.ts';
import { omitUndefined } from '../support/objects.ts';
import { hashKey, readCredential } from './api-key.ts';
import { createCachedLookup } from './cached-lookup.ts';
import { createUnknownKeyLimit } from './unknown-key-limit.ts';

/** The holder of an authenticated key, with the key's plan lowered to the key's own limits. */
export type Caller = {
  keyId: string;
  projectId: string;
  meterId: string;
  plan: Plan;
  /** Budgets of dollars that its requests are under, each as `scope/period`. */
  budgets?: readonly string[];
};

const lower = (one: number | undefined, other: number | undefined): number | undefined =>
  one === undefined || other === undefined ? (one ?? other) : Math.min(one, other);

/** The words that both accept. Where they have none in common, no target fits. */
const both = (one: Plan['require'], other: Plan['require']): Plan['require'] | undefined => {
  if (!one || !other) return one ?? other;
  const common = (label: 'region' | 'retention') =>
    one[label] && other[label]
      ? one[label].filter((word) => other[label]?.includes(word))
      : (one[label] ?? other[label]);
  return omitUndefined({ region: common('region'), retention: common('retention') });
};

/** The plan with the lower of each limit, and the models and targets that both the plan and the key allow. */
export const limitPlan = (plan: Plan, limits: KeyLimits): Plan => {
  const { rpm, quota, concurrency, models } = limits;
  const allowed = plan.models ?? models;
  const optional = {
    concurrency: lower(plan.concurrency, concurrency),
    models: models ? allowed?.filter((id) => models.includes(id)) : plan.models,
    require: both(plan.require, limits.require),
  };
  return {
    ...plan,
    rpm: Math.min(plan.rpm, rpm ?? plan.rpm),
    quota: Math.min(plan.quota, quota ?? plan.quota),
    ...omitUndefined(optional),
  };
};

/**
 * The caller of a request. If key or plan are being read again, `caller` is as the last reads found it, and nothing that
 * it decides may leave before `confirm` resolves.
 */
export type Identity = {
  caller: Caller;
  /** @throws CallerChanged; ApiError 401 if the key has ended or is paused, or 503 if it cannot be read */
  confirm?: (() => Promise<void>) | undefined;
};

/** `source` is the network address that the request came from. */
export type Authenticate = (headers: Record<string, string>, source?: string) => Promise<Identity>;

/** What was decided for the caller as it was last read has to be decided again. */
export class CallerChanged extends Error {
  readonly caller: Caller;

  constructor(caller: Caller) {
    super('The key or its plan has changed since it was last read.');
    this.name = 'CallerChanged';
    this.caller = caller;
  }
}

/** The caller as the tables have it. @throws ApiError 401 or 503 */
export const confirmedCaller = async ({ caller, confirm }: Identity): Promise<Caller> => {
  try {
    await confirm?.();
    return caller;
  } catch (error) {
    if (error instanceof CallerChanged) return error.caller;
    throw error;
  }
};

/** 503, never 401: after a 401 SDKs do not retry and users replace keys that are valid. */
const unavailable = (cause: unknown): ApiError =>
  retryLater('The API key could not be checked. Retry in a second.', cause);

const isSameHash = (one: string, other: string): boolean =>
  one.length === other.length && timingSafeEqual(Buffer.from(one), Buffer.from(other));

/** Why the key cannot be used. */
const problemOf = ({ status, expiresAt }: KeyRecord, now: number): ApiError | undefined => {
  if (status === 'active') {
    const isExpired = expiresAt !== undefined && expiresAt <= now;
    return isExpired ? unauthenticated('The API key has expired.') : undefined;
  }
  if (status === 'unreadable') return unavailable(new UnreadableItem('key'));
  return unauthenticated(
    status === 'paused' ? 'The API key is paused by its operator.' : 'The API key was revoked.',
  );
};

/** @throws ApiError 401, or 503 if a later version wrote the key */
const assertUsable = (record: KeyRecord | undefined, now: number): KeyRecord => {
  if (!record) throw unauthenticated('The API key is invalid.');
  const problem = problemOf(record, now);
  if (problem !== undefined) throw problem;
  return record;
};

/** The last caller of each key as it was read: a request asks twice. */
const callers = createHidden<KeyRecord, { plan: Plan; caller: Caller }>();

const callerOf = (record: KeyRecord, plan: Plan): Caller => {
  const last = callers.get(record);
  if (last?.plan === plan) return last.caller;
  const { keyId, projectId, meterId, budgets } = record;
  const limited = { keyId, projectId, meterId, plan: limitPlan(plan, record) };
  const caller = budgets ? { ...limited, budgets } : limited;
  callers.set(record, { plan, caller });
  return caller;
};

/** Revoked keys of which a process remembers that it has written a line. */
const MAX_NOTED = 1_000;

/** On AWS, of the look-up of a key, whose two reads make up to three attempts of a second each. */
export const LOOK_UP_TIMEOUT_MS = 2_400;

/**
 * Resolves request headers to a caller. Keys and plans are read every 10 s, and cached for 10 minutes while the tables
 * fail; a key's expiry is checked on every call. A caller that is known already is returned before it is read again.
 * @throws ApiError 401, 429 if too many unknown keys came from the same address, or 503 if the tables fail and the cache has no entry
 */
export const createAuthenticate = (parts: {
  keys: Pick<KeyStore, 'findKey'>;
  plans: Pick<PlanStore, 'findPlan'>;
  clock: Clock;
  /** For the reads of a key and its plan together. @default that of the stores, for each */
  timeoutMs?: number;
  /** Gets a line for each revoked key that a request has, once an hour in this process. @default none */
  log?: Pick<Log, 'warn'>;
}): Authenticate => {
  const { keys, plans, clock, timeoutMs, log } = parts;
  const findKey = createCachedLookup({
    find: async (hash) => {
      const record = await keys.findKey(hash);
      // Guards against a store that returns a record with another hash.
      return record && isSameHash(record.hash, hash) ? record : undefined;
    },
    clock,
  });
  const findPlan = createCachedLookup({ find: (id) => plans.findPlan(id), clock });
  const unknownKeys = createUnknownKeyLimit(clock);

  const noted = createLruCache<number>(MAX_NOTED);
  /**
   * A key that is still used has to be looked for: in a program that was forgotten, or with a stranger. Its last requests before
   * the revocation is read, which the meter rejects, say neither.
   */
  const noteRevoked = ({ keyId, projectId }: KeyRecord): void => {
    const now = clock.now();
    if (now < (noted.get(keyId) ?? 0)) return;
    noted.set(keyId, now + HOUR_MS);
    log?.warn('revoked_key_used', { keyId, projectId });
  };

  const recordOf = async (hash: string, source: string): Promise<KeyRecord | undefined> => {
    // A key that is in use is never affected by a flood from the same address.
    if (findKey.isCached(hash)) return findKey.find(hash);
    unknownKeys.assertAllowed(source);
    const record = await findKey.find(hash);
    if (!record) unknownKeys.count(source);
    return record;
  };

  /** Reads the plan while the key is read: after a pause both are due, and a key keeps its plan. */
  const prefetchPlan = (hash: string): void => {
    const known = findKey.peek(hash);
    // A failure is that of the same read, which is awaited below.
    if (known) findPlan.find(known.value.planId).catch(() => {});
  };

  const planOf = async ({ planId, keyId }: KeyRecord): Promise<Plan> => {
    const plan = await findPlan.find(planId);
    if (plan) return plan;
    // The operator's mistake, not the caller's: the key is valid, and works once the plan exists.
    throw unavailable(new Error(`The plan ${planId} of the key ${keyId} does not exist.`));
  };

  const read = async (hash: string, source: string): Promise<Caller> => {
    try {
      const reading = recordOf(hash, source);
      prefetchPlan(hash);
      const found = await reading;
      if (found?.status === 'revoked') noteRevoked(found);
      const record = assertUsable(found, clock.now());
      return callerOf(record, await planOf(record));
    } catch (error) {
      throw error instanceof StoreUnavailable ? unavailable(error) : error;
    }
  };

  const inTime = async (reading: Promise<Caller>): Promise<Caller> => {
    if (timeoutMs === undefined) return reading;
    const found = await withTimeout(clock, timeoutMs, reading);
    if (found) return found.value;
    throw unavailable(new StoreUnavailable('The look-up timed out.'));
  };

  const running = new Map<string, { since: number; caller: Promise<Caller> }>();

  /**
   * One look-up for all who ask while its reads run, and one timeout: a request whose body waits for the key asks
   * twice (`createAcceptsBody`).
   */
  const lookUp = (hash: string, source: string): Promise<Caller> => {
    const since = clock.now();
    const shared = running.get(hash);
    if (shared && since - shared.since < LONGEST_READ_MS) return shared.caller;
    const reading = read(hash, source);
    const mine = { since, caller: inTime(reading) };
    running.set(hash, mine);
    const forget = () => {
      if (running.get(hash) === mine) running.delete(hash);
    };
    reading.then(forget, forget);
    return mine.caller;
  };

  /** The caller as the last reads found it, if the key could be used; `isDue`: one of them is to be repeated. */
  const lastKnown = (hash: string): { caller: Caller; isDue: boolean } | undefined => {
    const key = findKey.peek(hash);
    const plan = key && findPlan.peek(key.value.planId);
    if (!key || !plan || problemOf(key.value, clock.now()) !== undefined) return undefined;
    return { caller: callerOf(key.value, plan.value), isDue: key.isDue || plan.isDue };
  };

  /** Once for the headers of a request whose body waits for its key, which asks twice. */
  const hashOf = oncePer(createHidden<Record<string, string>, string>(), (headers) =>
    hashKey(readCredential(headers)),
  );

  return async (headers, source = '') => {
    const hash = hashOf(headers);
    const known = lastKnown(hash);
    if (known && !known.isDue) return { caller: known.caller };
    const current = lookUp(hash, source);
    if (!known) return { caller: await current };
    const { caller } = known;
    // The request may end before it awaits this.
    current.catch(() => {});
    const confirm = async () => {
      if (!isDeepStrictEqual(await current, caller)) throw new CallerChanged(await current);
    };
    return { caller, confirm };
  };
};

/**
 * Whether the body of a request is worth reading: its key is valid, or could not be checked. The handler checks
 * it again, from the cache.
 */
export const createAcceptsBody =
  (authenticate: Authenticate) =>
  async (request: { headers: Record<string, string>; source: string }): Promise<boolean> => {
    try {
      await authenticate(request.headers, request.source);
      return true;
    } catch (error) {
      return toApiError(error).status >= 500;
    }
  };
