import { useState } from 'preact/hooks';
import { asFailure } from '../api/failure.ts';
import type { PagedList, RequestSummary } from '../api/types.ts';
import { Button, Empty, Page, Shown } from '../parts/blocks.tsx';
import { useShared } from '../parts/context.ts';
import { useEvery } from '../parts/every.ts';
import { useFilters } from '../parts/filters.ts';
import { DAY_MS, localClock } from '../parts/format.ts';
import { More, usePaged } from '../parts/paged.tsx';
import { hrefOf } from '../parts/route.ts';
import { Search } from '../parts/search.tsx';
import { RequestDetails } from './request-details.tsx';
import { FilterBar, namedIn, type RequestFilters } from './request-filters.tsx';
import { RequestTable } from './request-table.tsx';

const LIVE_MS = 2_000;
/** The longest a request runs: it is listed when it ends, at the place of its start. */
const LONGEST_MS = 15 * 60_000;
const MOST_LIVE = 500;

const FindRequest = () => {
  const [id, setId] = useState('');
  const find = (event: Event) => {
    event.preventDefault();
    if (id.trim() !== '') location.hash = hrefOf('requests', { id: id.trim() });
  };
  return (
    <form class="page-actions" onSubmit={find}>
      <Search label="Request id" placeholder="req_…" value={id} onChange={setId} />
      <Button type="submit">Show</Button>
    </form>
  );
};

const placeOf = ({ created_at: at, id }: RequestSummary): string => `${at} ${id}`;

/** The list with what has ended since it was loaded. */
const withNewer = (
  list: PagedList<RequestSummary>,
  newer: RequestSummary[],
): PagedList<RequestSummary> => {
  const known = new Set(list.data.map(({ id }) => id));
  const added = newer.filter(({ id }) => !known.has(id));
  if (added.length === 0) return list;
  const data = [...added, ...list.data].toSorted((one, other) =>
    placeOf(one) < placeOf(other) ? 1 : -1,
  );
  return { ...list, data: data.slice(0, Math.max(MOST_LIVE, list.data.length)) };
};

const useRequests = (values: RequestFilters) => {
  const { session, project } = useShared();
  const { days, live, ...wanted } = values;
  const list = (since: number, cursor?: string) =>
    session.api(
      'requests.list',
      {},
      { project, ...wanted, cursor, since: new Date(since).toISOString() },
    );
  const asked = JSON.stringify([project, days, wanted]);
  const requests = usePaged<RequestSummary>(asked, (cursor) =>
    list(Date.now() - Number(days) * DAY_MS, cursor),
  );
  const [state, setState] = useState('');
  useEvery(LIVE_MS, live === 'on', async () => {
    const { change } = requests;
    try {
      const { data } = await list(Date.now() - LONGEST_MS);
      change((old) => withNewer(old, data));
      setState(`as of ${localClock(Date.now())}`);
    } catch (error) {
      setState(asFailure(error).message);
    }
  });
  return { requests, state };
};

const RequestList = () => {
  const filters = useFilters('requests');
  const { values, change } = filters;
  const { requests, state } = useRequests(values);
  const isLive = values.live === 'on';
  const rows = requests.value?.data ?? [];
  return (
    <Page
      title={values.session ? 'Session' : 'Requests'}
      subtitle="One line a request; of refused ones, those of a week. Prompts and responses are never stored."
      actions={
        <>
          <Button
            look={isLive ? 'is-live' : ''}
            aria-pressed={isLive}
            onClick={() => change({ live: isLive ? '' : 'on' })}
          >
            Live
          </Button>
          <FindRequest />
        </>
      }
    >
      <FilterBar filters={filters} rows={rows} />
      {isLive && <p class="quiet live">New requests appear automatically {state}</p>}
      <Shown of={requests}>
        {({ data, next_cursor: cursor }) => (
          <RequestTable
            // Of a session in the order in which it was.
            rows={values.session ? data.toReversed() : data}
            empty={
              !cursor && (
                <Empty icon="requests" title="No such requests">
                  <p>
                    {namedIn(values).length > 0
                      ? 'None in this time has all that the filters name.'
                      : 'Requests appear here as soon as they end.'}
                  </p>
                </Empty>
              )
            }
          />
        )}
      </Shown>
      <More of={requests} />
    </Page>
  );
};

export const RequestsPage = () => {
  const { id } = useShared().route;
  return id === undefined ? <RequestList /> : <RequestDetails key={id} id={id} />;
};
