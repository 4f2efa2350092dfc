import { useId, useState } from 'preact/hooks';
import type { RequestSummary } from '../api/types.ts';
import { Button } from '../parts/blocks.tsx';
import { Choices, Select } from '../parts/field.tsx';
import {
  type FilterValues,
  REQUEST_NAMES,
  type RequestName,
  type useFilters,
} from '../parts/filters.ts';
import { Icon } from '../parts/icons.tsx';

const NAMES = REQUEST_NAMES.map((value) => ({ value, label: value }));

export type RequestFilters = FilterValues<'requests'>;
type Filters = ReturnType<typeof useFilters<'requests'>>;

export const namedIn = (values: RequestFilters): RequestName[] =>
  REQUEST_NAMES.filter((name) => values[name] !== '');

const valuesOf = (row: RequestSummary, name: RequestName): (string | null)[] => {
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
  onAdd: (name: RequestName, value: string) => void;
}) => {
  const list = useId();
  const [name, setName] = useState<RequestName>('model');
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
      <Select aria-label="Filter by" value={name} options={NAMES} onChange={setName} />
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
      <Button type="submit" disabled={value.trim() === ''}>
        Filter
      </Button>
    </form>
  );
};

export const FilterBar = ({ filters, rows }: { filters: Filters; rows: RequestSummary[] }) => {
  const { values, change, bind, hrefWith } = filters;
  return (
    <div class="toolbar">
      <Choices legend="Status" isLegendHidden {...bind('status')} />
      <Choices legend="Range" isLegendHidden {...bind('days')} />
      <Select aria-label="Fault" {...bind('fault')} />
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
