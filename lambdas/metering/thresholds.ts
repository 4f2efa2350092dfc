import type { Caller } from '../keys/authenticate.ts';
import type { BudgetStore, BudgetView } from '../stores/budget-store.ts';
import type { ReachedThreshold, Threshold, ThresholdStore } from '../stores/notes.ts';
import { type Clock, formatInstant, MINUTE_MS } from '../support/clock.ts';
import type { Log } from '../support/log.ts';
import { createLruCache } from '../support/memo.ts';
import { dollarsOf } from '../support/public-usage.ts';
import type { Admission, Report } from './admission.ts';
import { type LimitReached, resetOfBudget } from './limits.ts';

/** The detail of an event: a key's use of its quota reached a share of it. */
type ThresholdReached = {
  project: string;
  key: string;
  plan: string;
  period: string;
  /** Percent of the quota. */
  threshold: Threshold;
  /** Units used or reserved. */
  used: number;
  quota: number;
  resets_at: string;
};

/** The same of a budget of dollars. */
type BudgetThresholdReached = Omit<ThresholdReached, 'plan' | 'used' | 'quota' | 'resets_at'> & {
  /** `project/team-a` */
  budget: string;
  /** Spent, and leased to requests in flight. */
  used_usd: number;
  max_usd: number;
  /** Absent for a budget in total. */
  resets_at?: string;
};

/** Sends an event; implemented by `createEventBus` (aws/event-bus.ts). @throws Error */
export type Announce = (event: ThresholdReached | BudgetThresholdReached) => Promise<void>;

type AnnounceParts = { store: ThresholdStore; announce: Announce; clock: Clock; log: Log };

/** The highest first: a request that passes several reports one. */
const THRESHOLDS: readonly Threshold[] = [100, 80, 50];

const MAX_METERS = 10_000;

const thresholdOf = (used: number, max: number): Threshold | undefined =>
  THRESHOLDS.find((percent) => used * 100 >= max * percent);

/** Announces each threshold once. Never throws. */
const createAnnounceOnce = ({ store, announce, clock, log }: AnnounceParts) => {
  /** When to look at a threshold of a meter again; another environment may announce it meanwhile. */
  const settled = createLruCache<number>(MAX_METERS);
  const nameOf = ({ meterId, period, quota, threshold }: ReachedThreshold) =>
    `${meterId}|${period}|${quota}|${threshold}`;

  return {
    isDue: (reached: ReachedThreshold): boolean =>
      (settled.get(nameOf(reached)) ?? 0) <= clock.now(),
    notYet: (reached: ReachedThreshold) => settled.set(nameOf(reached), clock.now() + MINUTE_MS),
    announce: async (
      { keyId, projectId }: Caller,
      reached: ReachedThreshold,
      event: Parameters<Announce>[0],
    ): Promise<void> => {
      const { meterId, period, threshold } = reached;
      const ids = { keyId, projectId, meterId, period, threshold };
      const name = nameOf(reached);
      const now = clock.now();
      settled.set(name, now + MINUTE_MS);
      try {
        const claim = await store.claim(reached, now);
        if (claim === 'announced') settled.set(name, Number.POSITIVE_INFINITY);
        if (claim !== 'claimed') return;
        await announce(event);
        log.info('usage_threshold', ids);
        await store.markAnnounced(reached);
        settled.set(name, Number.POSITIVE_INFINITY);
      } catch {
        log.warn('usage_threshold_failed', ids);
      }
    },
  };
};

type Parts = AnnounceParts & { budgets: Pick<BudgetStore, 'readBudget'> };

/**
 * Events at 50, 80 and 100 % of a quota or a budget: the highest thresholds that a charged unit and its budgets have reached. An event
 * is sent after the charge, like the record of the request: a stream has ended by then, and a whole response waits for at most a second.
 */
export const createReport = (parts: Parts): Report => {
  const { budgets, clock } = parts;
  const { isDue, notYet, announce } = createAnnounceOnce(parts);

  const reportQuota = async (caller: Caller, { unit, limits }: Admission): Promise<void> => {
    const { limit: quota, remaining, resetAt } = limits.quota;
    const used = quota - remaining;
    const threshold = thresholdOf(used, quota);
    if (threshold === undefined) return;
    const { meterId, period } = unit;
    const reached = { meterId, period, quota, threshold };
    if (!isDue(reached)) return;
    const { keyId: key, projectId: project, plan } = caller;
    const ids = { project, key, plan: plan.id, period };
    await announce(caller, reached, {
      ...{ ...ids, threshold, used, quota, resets_at: formatInstant(resetAt) },
    });
  };

  const announceBudget = (
    caller: Caller,
    { hold, max }: BudgetView,
    { threshold, used }: { threshold: Threshold; used: number },
  ): Promise<void> => {
    const { budget, label: period } = hold;
    const resetAt = resetOfBudget(hold, clock.now());
    return announce(
      caller,
      { meterId: budget, period, quota: max, threshold },
      {
        project: caller.projectId,
        key: caller.keyId,
        budget: budget.replace('budget/', ''),
        period,
        threshold,
        used_usd: dollarsOf(used),
        max_usd: dollarsOf(max),
        ...(resetAt !== undefined && { resets_at: formatInstant(resetAt) }),
      },
    );
  };

  /** What a process knows of a budget has the rooms of other meters in it: the budget is read before an event. */
  const reportBudget = async (caller: Caller, view: BudgetView): Promise<void> => {
    const { hold, max, left } = view;
    const seen = thresholdOf(max - left, max);
    if (seen === undefined) return;
    const reached = { meterId: hold.budget, period: hold.label, quota: max, threshold: seen };
    if (!isDue(reached)) return;
    notYet(reached);
    const state = await budgets.readBudget(hold).catch(() => undefined);
    const used = state ? state.spent + state.leased : 0;
    const threshold = thresholdOf(used, max);
    if (threshold !== undefined) await announceBudget(caller, view, { threshold, used });
  };

  return {
    charged: async (caller: Caller, admission: Admission): Promise<void> => {
      await reportQuota(caller, admission);
      for (const view of admission.limits.budgets ?? []) await reportBudget(caller, view);
    },
    /** A budget that denies a request as it is spent: it may never be spent to the last cent. */
    denied: async (caller: Caller, { code, limits }: LimitReached): Promise<void> => {
      const [view] = (code === 'budget_exceeded' && limits.budgets) || [];
      if (!view) return;
      const { hold, max, left } = view;
      const reached = {
        meterId: hold.budget,
        period: hold.label,
        quota: max,
        threshold: 100,
      } as const;
      if (isDue(reached)) await announceBudget(caller, view, { threshold: 100, used: max - left });
    },
  };
};
