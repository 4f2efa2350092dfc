import { accountOf } from '../catalog/account.ts';
import type { Target } from '../catalog/catalog.ts';
import { limitsIn } from '../protocols/provider-limits.ts';
import { mergeDescending } from '../support/async-lists.ts';
import { formatInstant, HOUR_MS } from '../support/clock.ts';
import { ok, warning } from './check.ts';
import type { AdminParts, OperationParts } from './operation.ts';
import type { QuotaState } from './quota-families.ts';

type Parts = Pick<AdminParts, 'projects' | 'records' | 'clock'>;

type Seen = { limits: string; limits_at: string };

/** Of the last hour. */
const MAX_RECORDS = 500;

/** By `upstream/model`: no environment writes more for it than the records of its requests. */
export const readLimitsSeen = async (parts: Parts): Promise<Map<string, Seen>> => {
  const { projects, records, clock } = parts;
  const range = { from: clock.now() - HOUR_MS, to: clock.now() + 1_000 };
  const sources = (await projects.listProjects()).map(({ id: projectId }) =>
    records.listRecords({ projectId, ...range }),
  );
  const seen = new Map<string, Seen>();
  let read = 0;
  for await (const { attempts, startedAt } of mergeDescending(sources, ({ id }) => id)) {
    for (const { upstream, model, limits } of attempts.toReversed()) {
      const name = `${upstream}/${model}`;
      if (limits === undefined || seen.has(name)) continue;
      seen.set(name, { limits, limits_at: formatInstant(startedAt) });
    }
    read += 1;
    if (read === MAX_RECORDS) break;
  }
  return seen;
};

export type AccountLimits = Seen & { name: string; place: string };

/** The same by account and model, whose targets share limits: of the target that was called last. */
export const readAccountLimits = async (
  parts: Parts,
  placed: { place: string; target: Target }[],
): Promise<AccountLimits[]> => {
  const seen = await readLimitsSeen(parts);
  const all = new Map<string, AccountLimits>();
  for (const { place, target } of placed) {
    const name = `${accountOf(target)} ${target.model}`;
    const one = seen.get(`${target.upstream}/${target.model}`);
    if (one && one.limits_at > (all.get(name)?.limits_at ?? ''))
      all.set(name, { ...one, name, place });
  }
  return [...all.values()];
};

const LOW = 0.1;

/** What remains of the limits of each account and model; a warning below a tenth of one. */
export const checkLimits = async (...[parts, placed]: Parameters<typeof readAccountLimits>) => {
  // A table that cannot be read has a separate check.
  const all = await readAccountLimits(parts, placed).catch((): AccountLimits[] => []);
  return all.map(({ name, place, limits, limits_at: at }) => {
    const low = limitsIn(limits).filter(({ remaining, limit = 0 }) => remaining < LOW * limit);
    const reason = `At ${at} the provider had for ${name} left: ${limits}.`;
    return low.length > 0 ? warning('limits', place, reason) : ok('limits', reason);
  });
};

/** What waits for quotas that targets declare, and what may be sent now. */
export const checkQuotas = async ({ readQuotas }: Pick<OperationParts, 'readQuotas'>) => {
  const all = await readQuotas().catch((): QuotaState[] => []);
  return all.map(({ quota, limits, left, waiting }) => {
    const amounts = Object.entries(limits).map(
      ([of, limit]) => `${Math.floor(left[of] ?? 0)} ${of} of ${limit} a minute`,
    );
    const now = amounts.join(', ') || 'not learned yet';
    return ok(
      'shares',
      `${quota}: now ${now}; ${waiting} ${waiting === 1 ? 'project waits' : 'projects wait'}`,
    );
  });
};
