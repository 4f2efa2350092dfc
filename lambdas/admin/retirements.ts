import type { Model } from '../catalog/catalog.ts';
import { rowsIn } from '../history/read-usage.ts';
import { DAY_MS, dayOf } from '../support/clock.ts';
import { type Check, failed, ok, warning } from './check.ts';
import type { AdminParts } from './operation.ts';

type Parts = Pick<AdminParts, 'models' | 'projects' | 'history' | 'clock'>;

const WEEK_MS = 7 * DAY_MS;

/** How many keys have used each model with a date of retirement in the last week; reads nothing if there is none. */
export const readKeysUsing = async (parts: Parts): Promise<Map<string, number>> => {
  const { models, projects, history, clock } = parts;
  const keys = new Map(
    models.flatMap(({ id, retires }) => (retires ? [[id, new Set<string>()] as const] : [])),
  );
  if (keys.size === 0) return new Map();
  const [from, to] = [dayOf(clock.now() - WEEK_MS), dayOf(clock.now())];
  for (const { id: projectId } of await projects.listProjects()) {
    for await (const row of rowsIn(history, { projectId, from, to })) {
      if (row.charged + row.refunded > 0) keys.get(row.model)?.add(row.keyId);
    }
  }
  return new Map([...keys].map(([id, using]) => [id, using.size]));
};

type Retirement = { retires?: string; successor?: string | null; keys_using?: number };

/** What the admin API returns of a model that has a date. */
export const publicRetirement = ({ retires, successor }: Model, keysUsing = 0): Retirement =>
  retires === undefined ? {} : { retires, successor: successor ?? null, keys_using: keysUsing };

const NOTICE_DAYS = 90;
const URGENT_DAYS = 30;
const CHECK = 'retirement';

const checkSuccessor = ({ successor }: Model, index: number, models: Model[]): Check[] => {
  if (models.some(({ id }) => id === successor)) return [];
  const reason = successor
    ? `The catalog has no model '${successor}', which callers shall use instead.`
    : 'There is none: errors name no model to use instead.';
  return [warning(CHECK, `[${index}].successor`, reason)];
};

const checkDate = (
  { id, retires = '', afterwards }: Model,
  index: number,
  keys: number | undefined,
  now: number,
): Check => {
  const place = `[${index}].retires`;
  const using =
    keys === undefined ? '' : ` ${keys} ${keys === 1 ? 'key' : 'keys'} used it in the last 7 days.`;
  const after = afterwards ? 'its successor answers for it' : 'requests for it get 400';
  const days = Math.ceil((Date.parse(retires) - now) / DAY_MS);
  if (days <= 0) {
    const reason = `${id} was retired on ${retires}: ${after}.${using} Remove it from the catalog once no caller names it.`;
    return afterwards ? warning(CHECK, place, reason) : failed(CHECK, place, reason);
  }
  const reason = `${id} is retired on ${retires}, in ${days} ${days === 1 ? 'day' : 'days'}; then ${after}.${using}`;
  if (days > NOTICE_DAYS) return ok(CHECK, reason);
  const isUrgent = days <= URGENT_DAYS && keys !== 0 && afterwards === undefined;
  return (isUrgent ? failed : warning)(CHECK, place, reason);
};

export const checkRetirements = async (parts: Parts): Promise<Check[]> => {
  // A table that cannot be read has a separate check.
  const keys = await readKeysUsing(parts).catch(() => new Map<string, number>());
  const now = parts.clock.now();
  return parts.models.flatMap((model, index) =>
    model.retires === undefined
      ? []
      : [
          checkDate(model, index, keys.get(model.id), now),
          ...checkSuccessor(model, index, parts.models),
        ],
  );
};
