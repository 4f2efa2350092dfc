import { FOCUS_VERSION, type FocusNames, focusRowsOf } from '../history/focus.ts';
import { LATE_MS } from '../history/history-job.ts';
import { ageOf, rowsIn } from '../history/read-usage.ts';
import { EVENT_FORMS, type EventForm, eventsOf } from '../records/events.ts';
import { HISTORY_DAYS, type UsageRow } from '../stores/history-store.ts';
import type { RequestRecord } from '../stores/record-store.ts';
import { dayOf, formatInstant, HOUR_MS } from '../support/clock.ts';
import { invalidRequest } from '../support/errors.ts';
import { MAX_RECORD_DAYS } from '../tables.ts';
import { keptRange } from './input.ts';
import type { Operation, OperationParts } from './operation.ts';
import { readPage } from './page.ts';
import { projectsSeenBy } from './projects.ts';
import { EXPORT_CURSOR, type ExportQuery } from './queries.ts';
import { placeOf } from './recent.ts';

/** Rows of the history, of which each becomes some 5 of 1.3 KB; a response has at most 6 MB. */
const PAGE_ROWS = 400;
type Asked = ExportQuery & { ids: string[]; from: number; to: number };

type Source<Item> = {
  limit: number;
  /** What a project has, after the place. */
  read(projectId: string, place: string | undefined): AsyncIterable<Item>;
  placeOf(item: Item): string;
};

/** A page of one project, and the cursor of the next one, which may be of the next project. */
const pageOf = async <Item>({ ids, to, cursor }: Asked, { read, ...source }: Source<Item>) => {
  const [, , projectId = ids[0] ?? '', place] = EXPORT_CURSOR.exec(cursor ?? '') ?? [];
  const index = ids.indexOf(projectId);
  if (index === -1) return { projectId, data: [], next_cursor: null };
  const page = await readPage(read(projectId, place), { ...source, isWanted: () => true });
  const next = page.next_cursor === null ? ids[index + 1] : `${projectId}|${page.next_cursor}`;
  return { projectId, data: page.data, next_cursor: next === undefined ? null : `${to}|${next}` };
};

const rowPlaceOf = ({ day, keyId, model }: UsageRow): string => [day, keyId, model].join('|');

const rowAfter = (place: string | undefined) => {
  const [day = '', keyId = '', ...model] = place?.split('|') ?? [];
  return place === undefined ? undefined : { day, keyId, model: model.join('|') };
};

const recordBefore = (place: string | undefined) => {
  const [day = '', id = ''] = place?.split('|') ?? [];
  return place === undefined ? {} : { before: { day, id } };
};

/** Costs and usage in the forms of finance tools, billing systems and warehouses, page by page. */
export const createExport = (parts: OperationParts) => {
  const { models, records, history, projects, keys, clock } = parts;
  const { exportedUntil = () => clock.now() - HOUR_MS } = parts;

  const namesIn = async (account: string, projectId: string): Promise<FocusNames> => {
    const names = new Map((await keys.listKeys(projectId)).map((key) => [key.keyId, key.name]));
    return {
      account,
      providerOf: (model) =>
        models.find(({ id }) => id === model)?.owned_by ?? model.split('/')[0] ?? model,
      nameOf: (keyId) => names.get(keyId),
    };
  };

  const focus = async (asked: Asked) => {
    const days = { from: dayOf(asked.from), to: dayOf(asked.to - 1) };
    const page = await pageOf<UsageRow>(asked, {
      limit: Math.min(asked.limit, PAGE_ROWS),
      read: (projectId, place) => rowsIn(history, { projectId, ...days, after: rowAfter(place) }),
      placeOf: rowPlaceOf,
    });
    const names = await namesIn(asked.account, page.projectId);
    const progress = await history.readProgress(page.projectId);
    const data = page.data.flatMap((row) => focusRowsOf(row, names));
    // The next export begins with the first day whose rows may change.
    const to = `${dayOf(Math.min(asked.to, clock.now() - LATE_MS))}T00:00:00Z`;
    return { ...page, to, focus_version: FOCUS_VERSION, ...ageOf([progress], clock.now()), data };
  };

  const events = async (asked: Asked, form: EventForm) => {
    const { from, to, meter, limit } = asked;
    const page = await pageOf<RequestRecord>(asked, {
      limit,
      read: (projectId, place) =>
        records.listRecords({ projectId, from, to, ...recordBefore(place) }),
      placeOf,
    });
    return { ...page, data: page.data.flatMap((record) => eventsOf(record, form, meter)) };
  };

  const run = (async ({ parameters, query, identity }) => {
    const { format = '' } = parameters;
    const form = EVENT_FORMS.find((name) => name === format);
    if (form === undefined && format !== 'focus') {
      throw invalidRequest(`The format must be focus, ${EVENT_FORMS.join(', ')}.`, { status: 404 });
    }
    const { project, cursor, from: since, to: until = Number.POSITIVE_INFINITY } = query;
    const ids = await projectsSeenBy(projects, identity, project);
    // Records of later requests may still be written: the next export begins here.
    const settled = form === undefined ? clock.now() : exportedUntil();
    const [, first = settled] = EXPORT_CURSOR.exec(cursor ?? '') ?? [];
    const days = form === undefined ? HISTORY_DAYS : MAX_RECORD_DAYS + 1;
    const kept = keptRange({ since, until }, days, clock.now());
    // Never before its own begin, from which the next export would have records twice.
    const to = Math.max(kept.from, Math.min(kept.to, Number(first)));
    const asked = { ...query, ids: ids.toSorted(), from: kept.from, to };
    const { projectId: _, ...page } = form ? await events(asked, form) : await focus(asked);
    const shown = { from: formatInstant(asked.from), to: formatInstant(asked.to) };
    return { status: 200, body: { format, ...shown, ...page } };
  }) satisfies Operation<'export'>;
  return { export: run };
};
