import {
  type DayRange,
  DIMENSIONS,
  type Dimension,
  type HistoryStore,
  type SpentBy,
  type UsageSums,
} from '../stores/history-store.ts';
import { topOf } from './fold-who.ts';
import {
  createUsageGroups,
  type Grouping,
  type NamedGroup,
  type NamedSums,
  OTHER,
  publicGroups,
  type ReadsSums,
  sumsIn,
} from './read-usage.ts';
import { addSums, without } from './sums.ts';
import { addValue, noSums, type TopValues, toTop, type ValueSums } from './top-values.ts';

/** Requests that name none. */
const NONE = '(none)';

/** `user`, or the name of a tag as `tag:team`. */
export type WhoGrouping = Exclude<Dimension, 'tag'> | `tag:${string}`;

const GROUPING = /^(?:user|session|agent|client|tag:[\w.-]{1,32})$/;
export const isWhoGrouping = (by: string): by is WhoGrouping => GROUPING.test(by);

export const WHO_GROUPINGS = [...DIMENSIONS.slice(0, -1), 'tag:NAME'].join(', ');

const both = ({ settled, open }: ValueSums): UsageSums => {
  const sums = { ...settled };
  addSums(sums, open);
  return sums;
};

const addTag = (top: TopValues, spent: SpentBy, prefix: string): void => {
  const { values } = topOf(spent);
  const ofName = values.get(prefix);
  // Without the name's sum, a day with more names than are kept may have it in none of its values.
  if (!ofName) return;
  let rest = both(ofName);
  for (const [value, sums] of values) {
    if (value === prefix || !value.startsWith(prefix)) continue;
    const all = both(sums);
    addValue(top, value.slice(prefix.length), { settled: all });
    rest = without(rest, all);
  }
  addSums(top.other.settled, rest);
};

const addDay = (top: TopValues, spent: SpentBy): void => {
  const day = topOf(spent);
  for (const [value, sums] of day.values) addValue(top, value, { settled: both(sums) });
  addSums(top.other.settled, both(day.other));
};

/** Sums by a dimension: bounded in memory and in length, and in total those of the rows. */
const createWhoGroups = (by: WhoGrouping) => {
  const top: TopValues = { values: new Map(), other: noSums() };
  const prefix = by.startsWith('tag:') ? `${by.slice('tag:'.length)}=` : undefined;
  let isCut = false;
  return {
    /** To be read before the rows, which the history writes first. */
    read: async (history: Pick<HistoryStore, 'readSpent'>, range: DayRange) => {
      for await (const days of history.readSpent(range, prefix ? 'tag' : (by as Dimension))) {
        for (const spent of days) {
          isCut ||= spent.hasMore;
          if (prefix) addTag(top, spent, prefix);
          else addDay(top, spent);
        }
      }
    },
    groups: (total: UsageSums): NamedGroup[] => {
      const { values, other } = toTop(top);
      let none = without(total, other.settled);
      const rows = [...values].map(([name, { settled }]) => {
        none = without(none, settled);
        return { name, sums: settled };
      });
      const listed = rows.toSorted((one, two) => two.sums.costNanos - one.sums.costNanos);
      // A tag beyond the names that are kept is part of what names none.
      const isWhole = !(isCut && prefix && values.size === 0);
      const rest = [
        { name: OTHER, sums: other.settled },
        { name: isWhole ? NONE : OTHER, sums: none },
      ].filter(({ sums }) => Object.values(sums).some((sum) => sum !== 0));
      return [...listed, ...rest];
    },
  };
};

/** What has the sums of a group: those by key, those by model, and for the models of some keys their rows. */
const sourceOf = (by: Grouping | WhoGrouping, keys: readonly string[] | undefined) => {
  if (by === 'key') return 'key' as const;
  if (keys === undefined) return 'model' as const;
  return by === 'model' ? ('row' as const) : ('key' as const);
};
type Source = ReturnType<typeof sourceOf>;

/** Sums of several ranges, of all keys or of some, in pages. */
export async function* namedIn(
  history: ReadsSums,
  { ranges, keys }: { ranges: DayRange[]; keys?: readonly string[] | undefined },
  source: Source,
): AsyncGenerator<NamedSums[], void, void> {
  const wanted = keys && new Set(keys);
  for (const range of ranges) {
    const pages = source === 'row' ? history.readRows(range) : sumsIn(history, range, source);
    for await (const page of pages) {
      yield wanted ? page.filter(({ keyId }) => wanted.has(keyId)) : page;
    }
  }
}
type Wanted = {
  by: (Grouping | WhoGrouping)[];
  keys?: readonly string[] | undefined;
  select?: (groups: NamedGroup[]) => NamedGroup[];
};

/** Sums of several ranges by names of their rows or by dimensions: those that `select` returns, all by default. */
export const readGroups = async (
  history: ReadsSums & Pick<HistoryStore, 'readSpent'>,
  ranges: DayRange[],
  { by, keys, select = (all) => all }: Wanted,
) => {
  const total = createUsageGroups('project');
  const groups = by.map((name) =>
    isWhoGrouping(name) ? createWhoGroups(name) : createUsageGroups(name),
  );
  for (const group of groups) {
    if ('read' in group) for (const range of ranges) await group.read(history, range);
  }
  const bySource = Map.groupBy(groups.keys(), (at) => sourceOf(by[at] ?? 'project', keys));
  const totalFrom = [...bySource.keys()][0];
  for (const [source, places] of bySource) {
    const own = places.flatMap((at) => groups[at] ?? []).filter((group) => 'add' in group);
    if (source === totalFrom) own.push(total);
    const add = (named: NamedSums) => own.forEach((group) => void group.add(named));
    for await (const page of namedIn(history, { ranges, keys }, source)) page.forEach(add);
  }
  const data = groups.map((group, at) =>
    publicGroups(by[at] ?? '', select(group.groups(total.sums()))),
  );
  return { data, total: total.total() };
};
