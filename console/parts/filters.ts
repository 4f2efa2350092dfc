import { useShared } from './context.ts';
import { optionsOf } from './field.tsx';
import { hrefOf, type Route, replaceHash } from './route.ts';

const REQUEST_STATUSES = optionsOf({
  ...{ '': 'All', failed: 'Failed', '5xx': '5xx', '4xx': '4xx' },
  ...{ refused: 'Refused', abandoned: 'Disconnected' },
});
const REQUEST_DAYS = optionsOf({ 1: '24 hours', 7: '7 days', 30: '30 days' });
const FAULTS = optionsOf({
  '': 'Any fault',
  provider: 'Fault of a provider',
  operator: 'Fault of the configuration',
  router: 'Fault of the router',
  caller: 'Fault of the caller',
  none: 'No fault',
});

const USAGE_RANGES = optionsOf(
  { 7: '7 days', 30: '30 days', 90: '90 days', month: 'This month', last: 'Last month' },
  '30',
);
export const USAGE_GROUPS = optionsOf(
  {
    ...{ day: 'By day', model: 'By model', key: 'By key', project: 'By project' },
    ...{ user: 'By user', session: 'By session', agent: 'By agent', client: 'By client' },
  },
  'model',
);
export const USAGE_MEASURES = optionsOf({ requests: 'Requests', tokens: 'Tokens', cost: 'Cost' });

const KEY_STATUSES = optionsOf({
  ...{ '': 'All', active: 'Active', paused: 'Paused' },
  ...{ expired: 'Expired', revoked: 'Revoked' },
});

/** Any text. */
const TEXT = 'text';
type Filter = readonly { value: string; isDefault?: true }[] | typeof TEXT;

/** What the address of each page may have behind its `?`, with its default: the first, unless another is marked. */
const FILTERS = {
  requests: {
    status: REQUEST_STATUSES,
    days: REQUEST_DAYS,
    fault: FAULTS,
    live: [{ value: '' }, { value: 'on' }],
    model: TEXT,
    target: TEXT,
    error: TEXT,
    key: TEXT,
    user: TEXT,
    session: TEXT,
    agent: TEXT,
    client: TEXT,
    tag: TEXT,
  },
  usage: { range: USAGE_RANGES, measure: USAGE_MEASURES, group: USAGE_GROUPS },
  keys: { q: TEXT, status: KEY_STATUSES },
  members: { q: TEXT },
  audit: { who: TEXT },
} as const satisfies Record<string, Record<string, Filter>>;

type Filters = typeof FILTERS;

type TextOf<Page> = { [Name in keyof Page]: Page[Name] extends typeof TEXT ? Name : never };
export type RequestName = TextOf<Filters['requests']>[keyof Filters['requests']];
/** What of a request's record is compared with a typed text. */
export const REQUEST_NAMES = Object.entries(FILTERS.requests).flatMap(([name, filter]) =>
  filter === TEXT ? [name as RequestName] : [],
);

type FilteredPage = keyof Filters;
type ValueOf<F> = F extends readonly { value: infer Value }[] ? Value : string;
export type FilterValues<P extends FilteredPage> = {
  [Name in keyof Filters[P]]: ValueOf<Filters[P][Name]>;
};

const isFiltered = (page: string): page is FilteredPage => Object.hasOwn(FILTERS, page);
const filtersOf = (page: string): Record<string, Filter> => (isFiltered(page) ? FILTERS[page] : {});

const accepts = (filter: Filter | undefined, value: string): boolean =>
  filter === TEXT || (filter ?? []).some((option) => option.value === value);

/** What every page may have: the project, and the column that its rows are sorted by. */
const OF_EVERY_PAGE = ['project', 'sort'];

/** `name=value` of the address that its page has no filter for: it shows more than the address asks for. */
export const unknownFilters = ({ page, query }: Route): string[] =>
  [...query]
    .filter(([name]) => !OF_EVERY_PAGE.includes(name))
    .filter(
      ([name, value]) =>
        !Object.hasOwn(filtersOf(page), name) || !accepts(filtersOf(page)[name], value),
    )
    .map(([name, value]) => `${name}=${value}`);

const defaultOf = (filter: Filter): string => {
  if (filter === TEXT) return '';
  const option = filter.find(({ isDefault }) => isDefault) ?? filter[0];
  return option?.value ?? '';
};

/** The filters of a page: they are in its address only, so that the address shows another reader the same. */
export const useFilters = <P extends FilteredPage>(page: P) => {
  const { route, project } = useShared();
  const read = ([name, filter]: [string, Filter]): [string, string] => {
    const value = route.query.get(name) ?? '';
    return [name, accepts(filter, value) ? value : defaultOf(filter)];
  };
  const filters = Object.entries<Filter>(FILTERS[page]);
  const values = Object.fromEntries(filters.map(read)) as FilterValues<P>;
  const hrefWith = (changes: Partial<FilterValues<P>>): string => {
    const next: Record<string, string | undefined> = { ...values, ...changes };
    const set = filters.filter(([name, filter]) => next[name] !== defaultOf(filter));
    return hrefOf(page, {
      project,
      sort: route.query.get('sort') ?? undefined,
      ...Object.fromEntries(set.map(([name]) => [name, next[name]])),
    });
  };
  const change = (changes: Partial<FilterValues<P>>): void => replaceHash(hrefWith(changes));
  /** A control of one filter. */
  const bind = <Name extends keyof Filters[P] & string>(name: Name) => ({
    value: values[name],
    options: FILTERS[page][name],
    onChange: (value: FilterValues<P>[Name]) => replaceHash(hrefWith({ ...values, [name]: value })),
  });
  return { values, change, bind, hrefWith };
};
