import { useEffect, useRef } from 'preact/hooks';
import { asFailure } from '../api/failure.ts';
import { Bars } from '../parts/bars.tsx';
import { Button, Clip, Empty, Page, Shown } from '../parts/blocks.tsx';
import { useShared } from '../parts/context.ts';
import { csvOf, saveFile } from '../parts/csv.ts';
import { Choices } from '../parts/field.tsx';
import { USAGE_MEASURES, useFilters } from '../parts/filters.ts';
import { utcDay } from '../parts/format.ts';
import { useLoad } from '../parts/load.ts';
import { announce } from '../parts/notice.tsx';
import { hrefOf } from '../parts/route.ts';
import {
  ageOf,
  barsOf,
  daysBefore,
  daysIn,
  type Group,
  isCut,
  loadUsage,
  MEASURES,
  MOST_ROWS,
  sortOf,
} from './usage-data.ts';
import { CostByKind, Sums } from './usage-sums.tsx';
import { BreakDown, type NameOf } from './usage-table.tsx';

/** Those that no row names have no requests to show. */
const isNamed = (name: string): boolean => !/^\((?:none|other)\)$/.test(name);

const WHO: readonly Group[] = ['user', 'session', 'agent', 'client'];

/** Requests, tokens and cost of a range: by day as bars, and by one of their names as a table. */
export const UsagePage = () => {
  const { session, project, route } = useShared();
  const { values, bind } = useFilters('usage');
  const { range, measure, group } = values;
  const query = { project, days: daysIn(range) };
  // A page that stays open over midnight loads the days of its range again.
  const subject = `${project} ${range} ${query.days.at(-1)}`;
  const days = useLoad(subject, () => loadUsage(session.api, 'day', query));
  const before = useLoad(subject, () =>
    loadUsage(session.api, 'project', { project, days: daysBefore(query.days) }),
  );
  const sort = sortOf(route.query.get('sort'), measure);
  const groups = useLoad(`${subject} ${group}`, () => {
    const top = group === 'day' ? {} : { limit: MOST_ROWS, sort };
    return loadUsage(session.api, group, { ...query, ...top });
  });
  const [isPart, { reload }] = [groups.value !== undefined && isCut(groups.value), groups];
  const loadedFor = useRef(sort);
  useEffect(() => {
    // The rows that are there stay until those of another order come.
    if (loadedFor.current !== sort && isPart) reload();
    loadedFor.current = sort;
  }, [sort, isPart, reload]);
  const nameOf: NameOf = (row) => {
    const name = row[group] ?? '';
    if (name === 'All') return name;
    if (group === 'day') return utcDay(name);
    if (WHO.includes(group) && isNamed(name)) {
      return <Clip text={name} href={hrefOf('requests', { project, [group]: name })} />;
    }
    return row.name ?? name;
  };
  const { value: usage } = days;
  const subtitle = usage
    ? `${utcDay(usage.from)} to ${utcDay(usage.to)} (UTC) · ${project ? `project ${project}` : 'all projects'} · ${ageOf(usage)}`
    : undefined;
  const exportCsv = (
    <Button
      disabled={!groups.value?.data.length}
      onClick={() => {
        loadUsage(session.api, group, query).then(
          ({ data }) => saveFile(`usage-by-${group}.csv`, csvOf(data)),
          (error) => announce(asFailure(error).message),
        );
      }}
    >
      Export CSV
    </Button>
  );
  return (
    <Page title="Usage" subtitle={subtitle} actions={exportCsv}>
      <div class="toolbar">
        <Choices legend="Range" isLegendHidden {...bind('range')} />
        <Choices legend="Measure" isLegendHidden {...bind('measure')} />
      </div>
      <Shown of={days}>
        {(loaded) => (
          <>
            <Sums sums={loaded.total} before={before.value?.total} />
            <Bars
              bars={barsOf(loaded, query.days, measure)}
              label={USAGE_MEASURES.find(({ value }) => value === measure)?.label ?? ''}
              format={MEASURES[measure].format}
            />
            <CostByKind sums={loaded.total} />
          </>
        )}
      </Shown>
      <section class="section" aria-label="Breakdown">
        <div class="toolbar">
          <Choices legend="Group" isLegendHidden {...bind('group')} />
        </div>
        <Shown of={groups}>
          {(loaded) =>
            loaded.data.length === 0 ? (
              <Empty icon="usage" title="No requests in this time">
                <p>
                  Usage appears here within an hour of a request; on a local router within seconds.
                </p>
              </Empty>
            ) : (
              <BreakDown usage={loaded} measure={measure} nameOf={nameOf} />
            )
          }
        </Shown>
      </section>
    </Page>
  );
};
