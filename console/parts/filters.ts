import { useShared } from './context.ts';
import { hrefOf, type Route, replaceHash } from './route.ts';

const REQUEST_STATUSES = [
  { value: '', label: 'All' },
  { value: 'failed', label: 'Failed' },
  { value: '5xx', label: '5xx' },
  { value: '4xx', label: '4xx' },
  { value: 'refused', label: 'Refused' },
  { value: 'abandoned', label: 'Disconnected' },
] as const;

const REQUEST_DAYS = [
  { value: '1', label: '24 hours' },
  { value: '7', label: '7 days' },
  { value: '30', label: '30 days' },
] as const;

const USAGE_RANGES = [
  { value: '7', label: '7 days' },
  { value: '30', label: '30 days', isDefault: true },
  { value: '90', label: '90 days' },
  { value: 'month', label: 'This month' },
  { value: 'last', label: 'Last month' },
] as const;

export const USAGE_GROUPS = [
  { value: 'day', label: 'By day' },
  { value: 'model', label: 'By model', isDefault: true },
  { value: 'key', label: 'By key' },
  { value: 'project', label: 'By project' },
  { value: 'user', label: 'By user' },
  { value: 'session', label: 'By session' },
  { value: 'agent', label: 'By agent' },
  { value: 'client', label: 'By client' },
] as const;

export const USAGE_MEASURES = [
  { value: 'requests', label: 'Requests' },
  { value: 'tokens', label: 'Tokens' },
  { value: 'cost', label: 'Cost' },
] as const;

const KEY_STATUSES = [
  { value: '', label: 'All' },
  { value: 'active', label: 'Active' },
  { value: 'paused', label: 'Paused' },
  { value: 'expired', label: 'Expired' },
  { value: 'revoked', label: 'Revoked' },
] as const;

const FAULTS = [
  { value: '', label: 'Any fault' },
  { value: 'provider', label: 'Fault of a provider' },
  { value: 'operator', label: 'Fault of the configuration' },
  { value: 'router', label: 'Fault of the router' },
  { value: 'caller', label: 'Fault of the caller' },
  { value: 'none', label: 'No fault' },
] as const;

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
