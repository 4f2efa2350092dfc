import { type Account, type Incident, isAttack, isTenth, TENTH_A_SECOND } from './incident.ts';
import type { Seen } from './world.ts';

const isServed = ({ status }: Seen): boolean => status === 200;

const between = (seen: Seen[], from: number, to: number): Seen[] =>
  seen.filter(({ at }) => at >= from && at < to);

/** What the provider could have served of these requests. */
const servableOf = (asked: Seen[], incident: Incident, { times }: Account): number => {
  const seconds = new Map<number, number>();
  for (const { at } of asked) {
    const second = Math.floor(at / 1_000);
    seconds.set(second, (seconds.get(second) ?? 0) + 1);
  }
  const { targets, hit } = incident;
  const isWhole = hit === 'first' && targets > 1;
  const capacity = (second: number) =>
    isTenth(incident, times, second * 1_000) && !isWhole
      ? TENTH_A_SECOND * targets
      : Number.POSITIVE_INFINITY;
  return [...seconds].reduce((sum, [second, count]) => sum + Math.min(count, capacity(second)), 0);
};

/** Requests from 5 s to 15 s after the repair: those served, and those that the provider could have served. */
const servedAfter = (incident: Incident, account: Account) => {
  const { repairedAt } = account.times;
  const asked = between(account.others, repairedAt + 5_000, repairedAt + 15_000);
  return { served: asked.filter(isServed).length, servable: servableOf(asked, incident, account) };
};

/**
 * At least 95 %. Where the capacity returns only within that time, all but two: a key whose last call failed less than a
 * second before waits for the rest of it.
 */
const hasRecovered = (incident: Incident, { served, servable }: ReturnType<typeof servedAfter>) =>
  served >= 0.95 * servable || (incident.back === 'tenth' && served >= servable - 2);

/** The share of the others' requests that succeed while one tenant's or one key's requests fail. */
const othersServed = ({ others, times }: Account): number => {
  const asked = between(others, times.outageAt, times.returnAt);
  return asked.filter(isServed).length / asked.length;
};

/** Calls for each request while every target is down, and the most a second of one process to one target once open. */
const loadDuring = ({ kind, seconds, targets }: Incident, { calls, seen, times }: Account) => {
  const { outageAt, returnAt } = times;
  const during = calls.filter(({ at }) => at >= outageAt && at < returnAt);
  // A timeout of the first content opens no breaker before it has passed, and the next target's is another one.
  const openFrom = outageAt + (kind === 'hang' ? 10_000 + 30_000 * targets : 12_000);
  const rates = Map.groupBy(
    during.filter(({ at }) => at >= openFrom),
    ({ process, target }) => `${process} ${target}`,
  );
  const openSeconds = Math.max(1, seconds - (openFrom - outageAt) / 1_000);
  const most = Math.max(0, ...[...rates.values()].map((made) => made.length));
  return {
    perRequest: during.length / between(seen, outageAt, returnAt).length,
    perSecond: most / openSeconds,
  };
};

/** Kinds for which every call of every target fails and a breaker opens. */
const OPENS_NONE = ['slow', 'empty', 'cut'];

const isTotal = ({ kind, share, hit, targets, seconds }: Incident): boolean =>
  share === 'all' &&
  (hit === 'all' || targets === 1) &&
  seconds >= 75 &&
  !OPENS_NONE.includes(kind);

/** Refusals that promise a recovery which has happened. */
const lateExcuses = ({ seen, times }: Account): Seen[] =>
  seen.filter(({ at, text }) => at >= times.repairedAt + 15_000 && text.includes('temporarily'));

export const brokenLaws = (incident: Incident, account: Account): string[] => {
  const broken: string[] = [];
  const must = (isKept: boolean, law: string) => {
    if (!isKept) broken.push(law);
  };
  const after = servedAfter(incident, account);
  must(
    hasRecovered(incident, after),
    `served ${after.served} of ${after.servable} after the repair`,
  );
  if (isAttack(incident)) {
    const served = othersServed(account);
    must(served >= 0.99, `others were served ${(served * 100).toFixed(1)} %`);
  }
  if (isTotal(incident)) {
    const { perRequest, perSecond } = loadDuring(incident, account);
    must(perRequest <= 1.2, `${perRequest.toFixed(2)} calls a request`);
    must(perSecond <= 1.05, `${perSecond.toFixed(2)} calls a second, target and process`);
  }
  must(lateExcuses(account).length === 0, 'said "temporarily" 15 s after the repair');
  must(account.afterwards.every(isServed), 'was not as new a minute after the repair');
  return broken;
};
