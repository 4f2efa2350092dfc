import { useState } from 'preact/hooks';
import { asFailure } from '../api/failure.ts';
import type { PagedList } from '../api/types.ts';
import { Button } from './blocks.tsx';
import { count } from './format.ts';
import { type Loaded, useLoad } from './load.ts';
import { announce } from './notice.tsx';

type Paged<Row> = Loaded<PagedList<Row>> & { more: (cursor: string) => Promise<void> };

/** A list of which the first page is loaded, and further ones on demand. */
export const usePaged = <Row,>(
  subject: string,
  load: (cursor?: string) => Promise<PagedList<Row>>,
): Paged<Row> => {
  const list = useLoad(subject, () => load());
  const more = async (cursor: string) => {
    const next = await load(cursor);
    list.change(({ data, ...first }) => ({ ...first, ...next, data: [...data, ...next.data] }));
  };
  return { ...list, more };
};

/** The way to the next page, while there is one. */
export const More = <Row,>({ of: { subject, value, more } }: { of: Paged<Row> }) => {
  const [busy, setBusy] = useState<string>();
  const isBusy = busy === subject;
  const cursor = value?.next_cursor;
  if (!cursor) return null;
  const load = () => {
    setBusy(subject);
    more(cursor)
      .catch((error) => announce(asFailure(error).message))
      .finally(() => setBusy((now) => (now === subject ? undefined : now)));
  };
  return (
    <p class="more">
      {count(value.data.length)}
      {value.total === undefined ? '' : ` of ${count(value.total)}`} shown, sorted and added up.{' '}
      <Button disabled={isBusy} onClick={load}>
        {isBusy ? 'Loading…' : 'Show more'}
      </Button>
    </p>
  );
};
