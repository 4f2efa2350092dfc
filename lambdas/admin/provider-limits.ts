import type { Target } from '../catalog/catalog.ts';
import type { ProjectStore } from '../stores/project-store.ts';
import type { RecordStore } from '../stores/record-store.ts';
import { mergeDescending } from '../support/async-lists.ts';
import { type Clock, formatInstant, HOUR_MS } from '../support/clock.ts';
import { type Check, warning } from './check.ts';

export type LimitParts = {
  projects: Pick<ProjectStore, 'listProjects'>;
  records: Pick<RecordStore, 'listRecords'>;
  clock: Clock;
};

/** What a provider's latest response stated of its limits. */
type Seen = { limits: string; limits_at: string };

/** Of the last hour. */
const MAX_RECORDS = 500;

/** By `upstream/model`: no environment writes more for it than the records of its requests. */
export const readLimitsSeen = async (parts: LimitParts): Promise<Map<string, Seen>> => {
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

/** `requests/minute 59/60` */
const LIMIT = /^([a-z]+\/[a-z]+) (\d+)\/(\d+)$/;
const LOW = 0.1;

/** Names the targets of which a provider's latest response had less than a tenth of a limit left. */
export const checkLimits = async (
  parts: LimitParts,
  placed: { place: string; target: Target }[],
): Promise<Check[]> => {
  // A table that cannot be read has a separate check.
  const seen = await readLimitsSeen(parts).catch(() => new Map<string, Seen>());
  return placed.flatMap(({ place, target }) => {
    const { limits = '', limits_at: at } = seen.get(`${target.upstream}/${target.model}`) ?? {};
    return limits.split(', ').flatMap((text) => {
      const [, what, remaining, limit] = LIMIT.exec(text) ?? [];
      return Number(remaining) < LOW * Number(limit)
        ? [
            warning(
              'limits',
              place,
              `At ${at} the provider had ${remaining} of ${limit} ${what} left.`,
            ),
          ]
        : [];
    });
  });
};
