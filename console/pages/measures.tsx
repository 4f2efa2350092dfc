import type { Measured, TargetMeasure } from '../api/types.ts';
import { count, dollars, milliseconds, percent, plural } from '../parts/format.ts';
import { hrefOf } from '../parts/route.ts';
import { type Column, Table } from '../parts/table.tsx';
import { Basis } from '../parts/time.tsx';

type Measurable = { measure?: Omit<TargetMeasure, 'model' | 'target'> | undefined };

/** Requests, failures, latency and cost of targets or of models. */
export const MEASURES: Column<Measurable>[] = [
  {
    title: 'Requests',
    kind: 'number',
    cell: ({ measure }) => count(measure?.requests ?? 0),
    sort: ({ measure }) => measure?.requests ?? 0,
    total: (rows) => count(rows.reduce((sum, { measure }) => sum + (measure?.requests ?? 0), 0)),
  },
  {
    title: 'Failed',
    kind: 'number',
    cell: ({ measure }) => (measure ? percent(measure.failed, measure.requests) : '–'),
    sort: ({ measure }) => measure && measure.failed / measure.requests,
  },
  {
    title: 'First content',
    kind: 'number',
    cell: ({ measure: { first_content_ms: first } = { first_content_ms: null } }) =>
      first === null ? (
        '–'
      ) : (
        <span title={`99 % within ${milliseconds(first.p99)}`}>
          {milliseconds(first.p50)}
          <small>95 % in {milliseconds(first.p95)}</small>
        </span>
      ),
    sort: ({ measure }) => measure?.first_content_ms?.p50,
  },
  {
    title: 'Cost',
    kind: 'number',
    cell: ({ measure }) =>
      measure ? (
        <>
          {dollars(measure.cost_usd)}
          <small>{dollars(measure.cost_usd / measure.requests)} each</small>
        </>
      ) : (
        '–'
      ),
    sort: ({ measure }) => measure?.cost_usd,
    total: (rows) => dollars(rows.reduce((sum, { measure }) => sum + (measure?.cost_usd ?? 0), 0)),
  },
];

const MODEL_COLUMNS: Column<{ model: string } & Measurable>[] = [
  {
    title: 'Model',
    cell: ({ model }) => (
      <a class="strong clip" href={hrefOf('requests', { model })}>
        {model}
      </a>
    ),
    sort: ({ model }) => model,
    total: (rows) => plural(rows.length, 'model'),
  },
  ...MEASURES,
];

/** Requests of each model, whichever target served them. */
export const ByModel = ({ measured }: { measured: Measured }) => (
  <section class="section">
    <h2>By model</h2>
    <p class="quiet live">
      <Basis of={measured} /> What a caller caused is no failure; first content is that of streamed
      responses.
    </p>
    {measured.models.length > 0 && (
      <Table
        look="scroll"
        caption="Models"
        columns={MODEL_COLUMNS}
        rows={measured.models.map(({ model, ...measure }) => ({ model, measure }))}
        keyOf={({ model }) => model}
      />
    )}
  </section>
);
