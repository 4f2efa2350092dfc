import { accountOf, quotaNameOf } from '../catalog/account.ts';
import type { Target } from '../catalog/catalog.ts';
import { CAPACITY } from '../log-events.ts';
import type { ProviderLimit } from '../protocols/provider-limits.ts';
import { UpstreamError } from '../protocols/rejections/upstream-error.ts';
import type { Opened } from '../routing/failover.ts';
import type { Ask, Stated } from '../routing/shares/fair-queue.ts';
import type { NamedQuota } from '../routing/shares/look.ts';
import { type Amounts, limitsOf, mapAmounts, QUOTA_KINDS } from '../routing/shares/quota.ts';
import { createShares } from '../routing/shares/shares.ts';
import type { ShareStore } from '../stores/notes.ts';
import type { Plan } from '../stores/plan-store.ts';
import type { Clock } from '../support/clock.ts';
import { ApiError } from '../support/errors.ts';
import type { RandomBytes } from '../support/ids.ts';
import type { EventBatches } from '../upstreams/upstream.ts';
import type { Tried } from './call-record.ts';
import { type CheckedCall, estimateOn, mostTokens } from './check-call.ts';

type Call = (target: Target) => Promise<EventBatches>;

/** The place of one request in the capacity that its targets declare. */
export type Seat = {
  /** Calls a target once it has room. @throws UpstreamError `capacity` */
  before(call: Call): Call;
  /** Waits for the first target with room if no target has any, as long as the plan allows. */
  open(run: () => Promise<Opened>): Promise<Opened>;
  /** Notes what its attempts counted, which corrects the estimates. */
  leave(tried: readonly Tried[]): void;
};

export type TakeSeat = (checked: CheckedCall, signal: AbortSignal) => Seat;

/** SDKs wait 10 minutes for a whole response, of which a wait should be little. A stream has heartbeats. */
const LONGEST_WHOLE_MS = 10_000;
/** Of a batch plan: it waits for all others, and still gets a twentieth of the weight of one of them. */
const BATCH_WEIGHT = 1 / 20;
/** Output of a request where its provider does not count `max_tokens` when it begins; corrected at the end. */
const USUAL_OUTPUT = 1_000;

type Quota = NonNullable<Target['quota']>;

/** Of what a quota limits, or may limit once it is learned. */
const amountsOf = (quota: NamedQuota, requests: number, input: number, output: number) => {
  const { limits, isLearned } = quota;
  const all = { requests, tokens: input + output, input, output };
  const limited = QUOTA_KINDS.filter((kind) => isLearned || limits[kind] !== undefined);
  return Object.fromEntries(limited.map((kind) => [kind, all[kind]])) as Amounts;
};

/** A project's requests of each priority are a flow. */
const flowOf = ({ projectId }: { projectId: string }, { priority, weight = 1 }: Plan) =>
  priority === 'batch'
    ? { flow: `${projectId} batch`, weight: weight * BATCH_WEIGHT }
    : { flow: projectId, weight };

/** What a response states of a minute. A limit of nothing is none. */
const statedIn = (stated: ProviderLimit[] = []): Stated => {
  const [remaining, limits]: [Amounts, Amounts] = [{}, {}];
  for (const { of, per, remaining: left, limit = 0 } of stated) {
    if (per !== 'minute') continue;
    remaining[of] = left;
    if (limit > 0) limits[of] = limit;
  }
  return { remaining, limits };
};

type Taken = { target: Target; quota: NamedQuota; ask: Ask };

/** What an attempt counted at its provider; undefined: unknown. */
const countedBy = ({ target, usage, error }: Tried, quota: NamedQuota): Amounts | undefined => {
  const status = error?.status ?? 0;
  if (error?.kind === 'connect' || (status >= 400 && status < 500))
    return amountsOf(quota, 0, 0, 0);
  if (!usage?.inputTokens) return undefined;
  const { inputTokens, outputTokens = 0, cacheReadTokens = 0 } = usage;
  const cached = target.quota?.counts?.cached === false ? cacheReadTokens : 0;
  return amountsOf(quota, 1, inputTokens - cached, outputTokens);
};

const noRoom = (target: Target, waitMs: number): UpstreamError =>
  new UpstreamError('capacity', `${accountOf(target)} has no room for ${waitMs} ms`, {
    retryAfterSeconds: waitMs / 1_000,
  });

/** No wait helps, and the provider would reject it: sent, it would take a minute of everybody's. */
const assertFits = ({ limits }: NamedQuota, { amounts }: Ask): void => {
  for (const kind of QUOTA_KINDS) {
    const [amount = 0, limit = amount] = [amounts[kind], limits[kind]];
    if (amount <= limit) continue;
    throw new UpstreamError('capacity', 'the request is above the whole quota', {
      isAboutInput: true,
      reason: `about ${amount} ${kind} of ${limit} a minute`,
    });
  }
};

export const createTakeSeat = (parts: {
  store: ShareStore;
  clock: Clock;
  randomBytes: RandomBytes;
}): TakeSeat => {
  const { clock, randomBytes } = parts;
  const random = () => Buffer.from(randomBytes(6)).readUIntBE(0, 6) / 2 ** 48;
  const shares = createShares({ ...parts, random });

  return (checked, signal) => {
    const { call, request, prompt, targets } = checked;
    const { plan } = call.caller;
    const longest = request.stream ? Number.POSITIVE_INFINITY : LONGEST_WHOLE_MS;
    const until = clock.now() + Math.min(plan.max_wait_ms ?? 0, longest);
    const isOnly = targets.length === 1;
    const taken: Taken[] = [];
    const denied = new Map<Target, number>();
    let granted: Target | undefined;

    const wantsOf = (target: Target, declared: Quota): Omit<Taken, 'target'> => {
      const quota = {
        ...{ name: quotaNameOf(target), limits: limitsOf(declared) },
        isLearned: declared.learned ?? false,
      };
      const most = mostTokens(checked);
      const output = declared.counts?.reserved === false ? Math.min(USUAL_OUTPUT, most) : most;
      const amounts = amountsOf(quota, 1, estimateOn(prompt, target), output);
      return { quota, ask: { ...flowOf(call.caller, plan), amounts } };
    };

    /** @throws UpstreamError */
    const take = async (target: Target, declared: Quota, waits: boolean): Promise<void> => {
      const { quota, ask } = wantsOf(target, declared);
      assertFits(quota, ask);
      const leftMs = Math.max(0, until - clock.now());
      const place = await shares.take(quota, ask, { patienceMs: waits ? leftMs : 0, signal });
      if (!place.isAdmitted) {
        denied.set(target, place.waitMs);
        throw noRoom(target, place.waitMs);
      }
      denied.delete(target);
      if (place.isUnchecked) return;
      call.note({ quotaLeft: place.percentLeft });
      taken.push({ target, quota, ask });
    };

    /** Of those that were denied, the target that has room first. */
    const soonest = (): Target | undefined =>
      [...denied].toSorted(([, one], [, other]) => one - other)[0]?.[0];

    return {
      before: (send) => async (target) => {
        if (target.quota && granted !== target) await take(target, target.quota, isOnly);
        granted = undefined;
        return send(target);
      },
      open: async (run) => {
        try {
          return await run();
        } catch (error) {
          const target = soonest();
          const isFull = error instanceof ApiError && error.code === CAPACITY;
          if (!isFull || !target?.quota || isOnly || until <= clock.now()) throw error;
          try {
            await take(target, target.quota, true);
          } catch {
            throw error;
          }
          granted = target;
          return run();
        }
      },
      leave: (tried) => {
        for (const { target, quota, ask } of taken.splice(0)) {
          const attempt = tried.findLast((one) => one.target === target);
          const counted = attempt ? countedBy(attempt, quota) : amountsOf(quota, 0, 0, 0);
          const amounts = mapAmounts(
            ask.amounts,
            (estimated, kind) => (counted?.[kind] ?? estimated) - estimated,
          );
          shares.correct(quota, { ...ask, amounts, ...statedIn(attempt?.limits) });
        }
      },
    };
  };
};
