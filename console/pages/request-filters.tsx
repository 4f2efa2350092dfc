import { useId, useState } from 'preact/hooks';
import type { RequestSummary } from '../api/types.ts';
import { Choices, Options } from '../parts/field.tsx';
import {
  FAULTS,
  type FilterValues,
  REQUEST_DAYS,
  REQUEST_STATUSES,
  type useFilters,
} from '../parts/filters.ts';
import { Icon } from '../parts/icons.tsx';

/** What of a record is compared with a typed text. */
const NAMED = [
  'model',
  'target',
  'error',
  'key',
  'user',
  'session',
  'agent',
  'client',
  'tag',
] as const;
type Name = (typeof NAMED)[number];
const NAMES = NAMED.map((value) => ({ value, label: value }));

export type RequestFilters = FilterValues<'requests'>;
type Filters = ReturnType<typeof useFilters<'requests'>>;

const isName = (name: string): name is Name => NAMED.some((one) => one === name);

export const namedIn = (values: RequestFilters): Name[] =>
  NAMED.filter((name) => values[name] !== '');

const valuesOf = (row: RequestSummary, name: Name): (string | null)[] => {
  if (name === 'tag') {
    return 'tags' in row ? Object.entries(row.tags).map(([tag, value]) => `${tag}=${value}`) : [];
  }
  const values: Record<string, unknown> = row;
  return [typeof values[name] === 'string' ? values[name] : null];
};

/** A filter by one member of the record; the list offers what the rows on the page have. */
const AddFilter = ({
  rows,
  onAdd,
}: {
  rows: RequestSummary[];
  onAdd: (name: Name, value: string) => void;
}) => {
  const list = useId();
  const [name, setName] = useState<Name>('model');
  const [value, setValue] = useState('');
  const known = [...new Set(rows.flatMap((row) => valuesOf(row, name)))].filter(Boolean);
  const add = (event: Event) => {
    event.preventDefault();
    if (value.trim() === '') return;
    onAdd(name, value.trim());
    setValue('');
  };
  return (
    <form class="row" onSubmit={add}>
      <select
        aria-label="Filter by"
        value={name}
        onChange={({ currentTarget }) =>
          isName(currentTarget.value) && setName(currentTarget.value)
        }
      >
        <Options options={NAMES} />
      </select>
      <input
        class="short"
        aria-label={`Value of ${name}`}
        list={list}
        placeholder={name === 'tag' ? 'name=value' : 'is'}
        value={value}
        onInput={({ currentTarget }) => setValue(currentTarget.value)}
      />
      <datalist id={list}>
        {known.map((one) => (
          <option key={one} value={one ?? ''} />
        ))}
      </datalist>
      <button type="submit" class="button" disabled={value.trim() === ''}>
        Filter
      </button>
    </form>
  );
};

/** Every filter of the requests; each is in the address. */
export const FilterBar = ({ filters, rows }: { filters: Filters; rows: RequestSummary[] }) => {
  const { values, change, hrefWith } = filters;
  return (
    <div class="toolbar">
      <Choices
        legend="Status"
        isLegendHidden
        value={values.status}
        options={REQUEST_STATUSES}
        onChange={(status) => change({ status })}
      />
      <Choices
        legend="Range"
        isLegendHidden
        value={values.days}
        options={REQUEST_DAYS}
        onChange={(days) => change({ days })}
      />
      <select
        aria-label="Fault"
        value={values.fault}
        onChange={({ currentTarget }) =>
          change({ fault: currentTarget.value as RequestFilters['fault'] })
        }
      >
        <Options options={FAULTS} />
      </select>
      <AddFilter rows={rows} onAdd={(name, value) => change({ [name]: value })} />
      {namedIn(values).map((name) => (
        <a key={name} class="button is-small chip" href={hrefWith({ [name]: '' })}>
          {name} <span class="clip">{values[name]}</span> <Icon name="close" />
          <span class="sr-only">Remove this filter</span>
        </a>
      ))}
    </div>
  );
};
