import type { Measured, TargetMeasure } from '../api/types.ts';
import { Basis, Clip, Section } from '../parts/blocks.tsx';
import { dollars, milliseconds, percent } from '../parts/format.ts';
import { hrefOf } from '../parts/route.ts';
import { type Column, figures, named, Table } from '../parts/table.tsx';

type Measurable = { measure?: Omit<TargetMeasure, 'model' | 'target'> | undefined };

export const MEASURES: Column<Measurable>[] = [
  figures('Requests', ({ measure }) => measure?.requests ?? 0, { isSummed: true }),
  figures('Failed', ({ measure }) => measure && measure.failed / measure.requests, {
    format: (share) => percent(share, 1),
  }),
  figures('First content', ({ measure }) => measure?.first_content_ms?.p50, {
    cell: ({ measure }) => {
      const first = measure?.first_content_ms;
      if (!first) return '–';
      return (
        <span title={`99 % within ${milliseconds(first.p99)}`}>
          {milliseconds(first.p50)}
          <small>95 % in {milliseconds(first.p95)}</small>
        </span>
      );
    },
  }),
  figures('Cost', ({ measure }) => measure?.cost_usd, {
    format: dollars,
    isSummed: true,
    cell: ({ measure }) =>
      measure ? (
        <>
          {dollars(measure.cost_usd)}
          <small>{dollars(measure.cost_usd / measure.requests)} each</small>
        </>
      ) : (
        '–'
      ),
  }),
];

const MODEL_COLUMNS: Column<{ model: string } & Measurable>[] = [
  named('Model', ({ model }) => model, {
    cell: ({ model }) => <Clip look="strong" text={model} href={hrefOf('requests', { model })} />,
  }),
  ...MEASURES,
];

/** Requests of each model, whichever target served them. */
export const ByModel = ({ measured }: { measured: Measured }) => (
  <Section title="By model">
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
  </Section>
);
