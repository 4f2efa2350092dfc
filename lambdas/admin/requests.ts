import { findTurnBefore } from '../records/explain-cache.ts';
import { recordForOperator, summaryOf } from '../records/public-record.ts';
import { publicRefused, refusedSummaryOf } from '../records/public-refused.ts';
import type { RefusedRequest, RequestRecord, Who } from '../stores/record-store.ts';
import { mergeDescending } from '../support/async-lists.ts';
import { DAY_MS } from '../support/clock.ts';
import { notFound } from '../support/errors.ts';
import { requestIdIn } from '../support/ids.ts';
import { omitUndefined } from '../support/objects.ts';
import { MAX_RECORD_DAYS } from '../tables.ts';
import { keptRange } from './input.ts';
import type { Operation, OperationParts } from './operation.ts';
import { readPage } from './page.ts';
import { projectsSeenBy } from './projects.ts';
import type { RequestQuery } from './queries.ts';
import { placeOf, readKeyNames } from './recent.ts';
import { type Identity, seesAll } from './roles.ts';

/** With a unit or without. */
type Listed = RequestRecord | RefusedRequest;

const isRefused = (listed: Listed): listed is RefusedRequest => !('outcome' in listed);

const summarize = (listed: Listed) =>
  isRefused(listed) ? refusedSummaryOf(listed) : summaryOf(listed);

const hasStatus = (listed: Listed, wanted: string | undefined): boolean =>
  wanted === undefined ||
  wanted === (isRefused(listed) ? 'refused' : listed.outcome) ||
  wanted === String(listed.status) ||
  wanted === `${String(listed.status)[0]}xx`;

const DIMENSIONS = ['user', 'session', 'agent', 'client'] as const;

const isFor = (listed: Listed, { tag, ...wanted }: RequestQuery): boolean => {
  const { tags = [], ...who }: Who = (isRefused(listed) ? undefined : listed.who) ?? {};
  const hasAll = DIMENSIONS.every(
    (name) => wanted[name] === undefined || wanted[name] === who[name],
  );
  return hasAll && (tag === undefined || tags.includes(tag));
};

/** What became of it, as its summary says. */
const hasEnd = (listed: Listed, { model, target, error, fault }: RequestQuery): boolean => {
  const wanted = Object.entries(omitUndefined({ model, target, error, whose_fault: fault }));
  if (wanted.length === 0) return true;
  const row: Record<string, unknown> = summarize(listed);
  return wanted.every(([name, value]) => row[name] === value);
};

/** Where requests without a known key are: of no project. */
const NO_PROJECT = '';

export const requestHandlers = ({ records, projects, keys, clock }: OperationParts) => {
  /** Of all that the identity may see, those without a known key included. */
  const allSeenBy = async (identity: Identity): Promise<string[]> => [
    ...(await projectsSeenBy(projects, identity)),
    ...(seesAll(identity) ? [NO_PROJECT] : []),
  ];

  /** The only projects that may hold the records. */
  const projectsOf = async ({ project, key }: RequestQuery, identity: Identity) => {
    if (project === undefined && key === undefined) return allSeenBy(identity);
    const all = await projectsSeenBy(projects, identity, project);
    if (project !== undefined || key === undefined) return all;
    const owners = await Promise.all(
      all.map(async (id) =>
        (await keys.listKeys(id)).some((one) => one.keyId === key) ? [id] : [],
      ),
    );
    return owners.flat();
  };

  const list = (async ({ query: wanted, identity }) => {
    const now = clock.now();
    const { since = now - DAY_MS, until, cursor: before } = wanted;
    const range = keptRange({ since, until }, MAX_RECORD_DAYS + 1, now);
    const sources = (await projectsOf(wanted, identity)).flatMap((projectId) => {
      const within = { projectId, ...range, ...(before && { before }) };
      const refused: AsyncGenerator<Listed, void, void> = records.listRefused(within);
      return projectId === NO_PROJECT ? [refused] : [refused, records.listRecords(within)];
    });
    const { key, status, limit } = wanted;
    const page = await readPage<Listed>(mergeDescending(sources, placeOf), {
      limit,
      placeOf,
      isWanted: (record) =>
        (key === undefined || key === record.keyId) &&
        hasStatus(record, status) &&
        isFor(record, wanted) &&
        hasEnd(record, wanted),
    });
    const nameOf = await readKeyNames(keys, page.data);
    const data = page.data.map((record) => ({
      ...summarize(record),
      key_name: nameOf(record.keyId),
    }));
    return { status: 200, body: { ...page, data } };
  }) satisfies Operation<'requests.list'>;

  const find = (async ({ parameters: { request = '' }, identity }) => {
    const requestId = requestIdIn(request);
    const read = async (project: string): Promise<Listed | undefined> =>
      (await records.findRecord(project, requestId)) ?? records.findRefused(project, requestId);
    const found = await Promise.all((await allSeenBy(identity)).map(read));
    const listed = found.find((one) => one !== undefined);
    if (listed) {
      const nameOf = await readKeyNames(keys, [listed]);
      const shown = isRefused(listed)
        ? publicRefused(listed)
        : recordForOperator(listed, await findTurnBefore(records, listed));
      return { status: 200, body: { ...shown, key_name: nameOf(listed.keyId) } };
    }
    throw notFound(
      `Request '${request.slice(0, 100)}' not found. Its record has expired, it was one of many refusals in a minute, or its id is wrong.`,
    );
  }) satisfies Operation<'requests.show'>;

  return { 'requests.list': list, 'requests.show': find };
};
