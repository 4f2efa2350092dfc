import type { UsageSums } from '../api/types.ts';
import { costText, count, dollars, percent, plural, shortCount } from '../parts/format.ts';
import { type Column, figures, Table } from '../parts/table.tsx';

/** `+12 %` to the sum of as many days before; from ten times on, how many times it is. */
const changeOf = (now: number, before: number): string => {
  if (before === 0) return now === 0 ? 'none before either' : 'none in the period before';
  if (now >= 10 * before) return `${count(Math.round(now / before))} times the period before`;
  const percents = Math.round((100 * (now - before)) / before);
  return `${percents > 0 ? '+' : ''}${percents} % to the period before`;
};

type CardProps = {
  title: string;
  of: (sums: UsageSums) => number;
  format: (sums: UsageSums) => string;
  detail: (sums: UsageSums) => string;
};

const CARDS: CardProps[] = [
  {
    title: 'Charged requests',
    of: ({ charged }) => charged,
    format: ({ charged }) => count(charged),
    detail: ({ refunded }) => plural(refunded, 'refund'),
  },
  {
    title: 'Input tokens',
    of: ({ input_tokens: tokens }) => tokens,
    format: ({ input_tokens: tokens }) => shortCount(tokens),
    detail: (sums) => `${percent(sums.cache_read_tokens, sums.input_tokens)} from a cache`,
  },
  {
    title: 'Output tokens',
    of: ({ output_tokens: tokens }) => tokens,
    format: ({ output_tokens: tokens }) => shortCount(tokens),
    detail: ({ reasoning_tokens: tokens }) => `${shortCount(tokens)} for reasoning`,
  },
  {
    title: 'Upstream cost',
    of: ({ cost_usd: cost }) => cost,
    format: costText,
    detail: () => 'at the catalog’s prices',
  },
];

/** The sums of a range, each with its unit, and with how they differ from those of the period before. */
export const Sums = ({ sums, before }: { sums: UsageSums; before: UsageSums | undefined }) => (
  <dl class="cards">
    {CARDS.map(({ title, of, format, detail }) => (
      <div key={title} class="panel card">
        <dt>{title}</dt>
        <dd>
          {format(sums)}
          <small>{detail(sums)}</small>
          <small>{before ? changeOf(of(sums), of(before)) : '\u00a0'}</small>
        </dd>
      </div>
    ))}
  </dl>
);

const KINDS: Column<{ kind: string; quantity: number; cost_usd: number }>[] = [
  {
    title: 'Kind',
    sort: ({ kind }) => kind.replaceAll('_', ' '),
    total: (rows) => plural(rows.length, 'kind'),
  },
  figures('Quantity', ({ quantity }) => quantity),
  figures('Cost', ({ cost_usd }) => cost_usd, { format: dollars, isSummed: true }),
];

/** What the cost is made of; what a provider stated itself has no kinds. */
export const CostByKind = ({ sums }: { sums: UsageSums }) => {
  const rows = Object.entries(sums.cost_by_kind).map(([kind, of]) => ({ kind, ...of }));
  if (rows.length === 0) return null;
  const sorted = rows.toSorted((one, other) => other.cost_usd - one.cost_usd);
  return (
    <section class="section" aria-label="Cost by kind">
      <Table
        look="scroll"
        caption="Cost by kind"
        columns={KINDS}
        rows={sorted}
        keyOf={({ kind }) => kind}
      />
      {costText(sums) !== dollars(sums.cost_usd) && (
        <p class="quiet">
          ~ a part is estimated; ≥ {plural(sums.incomplete_requests, 'request')} used something
          without a price.
        </p>
      )}
    </section>
  );
};
