import { listOf } from '../../support/async-lists.ts';
import { DAY_MS, HOUR_MS } from '../../support/clock.ts';
import { timeIn } from '../../support/ids.ts';
import { exactOptional, number, object, readIfValid, string } from '../../support/schema.ts';
import { SORT_KEY } from '../../tables.ts';
import type { OwedEvent, WebhookStore } from '../webhook-store.ts';
import { expiring } from './item-write.ts';
import { createTable, type TableOptions } from './table.ts';

const Stored = object({
  url: string,
  secret: string,
  previous: exactOptional(object({ secret: string, until: number })),
  setAt: number,
});

/** Longer than an event is repeated. */
const LIFE_MS = 2 * DAY_MS;
const HOURS = 25;

/** Written with the first address or event of a deployment: until then few looks find the events of a release without it. */
const IN_USE = 'webhooks';

/** Project ids have no `|`: no record is in these partitions. */
const partitionAt = (ms: number): string =>
  `|webhooks|${new Date(ms).toISOString().slice(0, 'yyyy-mm-ddThh'.length)}`;

/** The id of a response has the instant at which it began. */
const keyOf = ({ responseId }: OwedEvent) => ({
  partition: partitionAt(timeIn(responseId.slice('resp_'.length)) ?? 0),
  sort: responseId,
});

type Options = { client: TableOptions['client']; meters: string; records: string };

/** `WebhookStore`: an item of a project in the meters table, and what is owed by the hour in that of the records. */
export const createDynamoWebhookStore = ({ client, meters, records }: Options): WebhookStore => {
  const settings = createTable({ client, tableName: meters });
  const owed = createTable({ client, tableName: records });

  let isMarked = false;
  const mark = async (now: number) => {
    if (isMarked) return;
    await settings.apply(IN_USE, { set: { since: now }, conditions: [['since', 'is absent']] });
    isMarked = true;
  };

  let lookedAt = Number.NEGATIVE_INFINITY;
  const isDue = async (now: number): Promise<boolean> => {
    isMarked ||= (await settings.read(IN_USE)) !== undefined;
    return isMarked || now - lookedAt >= HOUR_MS;
  };

  const listHour = async (ms: number): Promise<OwedEvent[]> => {
    const range = { partition: partitionAt(ms), from: 'resp_', to: 'resp_~' };
    const items = (await listOf(owed.range(range))).flat();
    return items.flatMap(({ project, [SORT_KEY]: id }) =>
      typeof project === 'string' ? { projectId: project, responseId: String(id) } : [],
    );
  };

  return {
    find: async (projectId) =>
      readIfValid(Stored, (await settings.read(`webhook/${projectId}`))?.webhook),
    put: async (projectId, webhook) => {
      await mark(webhook.setAt);
      await settings.apply(`webhook/${projectId}`, { set: { webhook } });
    },
    remove: async (projectId) => {
      await settings.apply(`webhook/${projectId}`, { remove: ['webhook'] });
    },
    owe: async (event, now) => {
      await mark(now);
      const set = { project: event.projectId, ...expiring(now + LIFE_MS) };
      await owed.apply(keyOf(event), { set, returns: 'NONE' });
    },
    settle: async (event) => {
      await owed.apply(keyOf(event), { remove: ['project'], returns: 'NONE' });
    },
    listOwed: async (now) => {
      if (!(await isDue(now))) return [];
      lookedAt = now;
      const hours = Array.from({ length: HOURS }, (_, hour) => now - hour * HOUR_MS);
      const events = (await Promise.all(hours.map(listHour))).flat();
      if (events.length > 0) await mark(now);
      return events;
    },
  };
};
