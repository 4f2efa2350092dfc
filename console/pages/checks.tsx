import type { Check } from '../api/types.ts';
import { Section, Shown } from '../parts/blocks.tsx';
import { useShared } from '../parts/context.ts';
import { useLoad } from '../parts/load.ts';
import { type Column, Table } from '../parts/table.tsx';

const CHECK_COLUMNS: Column<Check>[] = [
  { title: 'Check', sort: ({ check }) => check },
  {
    title: 'Result',
    sort: ({ result }) => result,
    cell: ({ result }) => (
      <span class={`pill is-${{ ok: 'good', warning: 'warn' }[result] ?? 'bad'}`}>{result}</span>
    ),
  },
  { title: 'Reason', cell: ({ reason, place }) => [reason, place].filter(Boolean).join(' · ') },
];

export const Configuration = () => {
  const { session } = useShared();
  const checks = useLoad('', () => session.api('checks', {}));
  return (
    <Section title="Configuration">
      <Shown of={checks}>
        {({ checks: found }) => (
          <Table
            look="scroll"
            caption="Checks of the configuration"
            columns={CHECK_COLUMNS}
            rows={found}
            keyOf={({ check, place }) => `${check} ${place}`}
          />
        )}
      </Shown>
    </Section>
  );
};
