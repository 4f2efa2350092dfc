import { useState } from 'preact/hooks';
import { asFailure } from '../api/failure.ts';
import type { CallOutcome, Check, Target } from '../api/types.ts';
import { useShared } from '../parts/context.ts';
import { milliseconds } from '../parts/format.ts';
import { useLoad } from '../parts/load.ts';
import { Page } from '../parts/page.tsx';
import { Shown } from '../parts/states.tsx';
import { type Column, Table } from '../parts/table.tsx';

type Checks = { checks: Check[]; targets: Target[] };
/** Outcomes by target and call; undefined while a call runs. */
type Outcomes = Record<string, CallOutcome | undefined>;

const keyOf = (place: string, call: string): string => `${place} ${call}`;

const Outcome = ({ call, outcome }: { call: string; outcome: CallOutcome | undefined }) => {
  if (!outcome) return <span class="pill">{call}…</span>;
  const { result, ms, reason, member } = outcome;
  if (result === 'ok') {
    return (
      <span class="pill is-good">
        {call} {milliseconds(ms)}
      </span>
    );
  }
  return (
    <span class="outcome">
      <span class="pill is-bad">{call} failed</span>
      <span class="quiet">
        {reason}
        {member && ` (look at ${member})`}
      </span>
    </span>
  );
};

const columnsWith = (
  outcomes: Outcomes,
  onTest: ((target: Target) => void) | undefined,
): Column<Target>[] => [
  { title: 'Model', cell: ({ model }) => <strong class="clip">{model}</strong> },
  {
    title: 'Upstream',
    cell: ({ upstream, place }) => (
      <>
        {upstream}
        <span class="mono quiet clip">{place}</span>
      </>
    ),
  },
  {
    title: 'Last test',
    cell: ({ place, calls }) => {
      const tested = calls.filter((call) => Object.hasOwn(outcomes, keyOf(place, call)));
      if (tested.length === 0) return <span class="quiet">not tested</span>;
      return (
        <span class="row">
          {tested.map((call) => (
            <Outcome key={call} call={call} outcome={outcomes[keyOf(place, call)]} />
          ))}
        </span>
      );
    },
  },
  {
    title: 'Actions',
    kind: 'actions',
    cell: (target) =>
      onTest && (
        <span class="row-actions">
          <button
            type="button"
            class="button is-small"
            aria-label={`Test ${target.model} at ${target.upstream}`}
            onClick={() => onTest(target)}
          >
            Test
          </button>
        </span>
      ),
  },
];

const CHECK_COLUMNS: Column<Check>[] = [
  { title: 'Check', cell: ({ check }) => check },
  {
    title: 'Result',
    cell: ({ result }) => (
      <span class={`pill is-${{ ok: 'good', warning: 'warn' }[result] ?? 'bad'}`}>{result}</span>
    ),
  },
  { title: 'Reason', cell: ({ reason, place }) => [reason, place].filter(Boolean).join(' · ') },
];

/** The catalog's targets, the checks of the doctor, and a test of each target. */
export const ModelsPage = () => {
  const { session } = useShared();
  const checks = useLoad('', () => session.api.get<Checks>('checks'));
  const [outcomes, setOutcomes] = useState<Outcomes>({});
  const put = (place: string, call: string, outcome: CallOutcome | undefined) =>
    setOutcomes((old) => ({ ...old, [keyOf(place, call)]: outcome }));
  const test = async ({ place, calls }: Target) => {
    for (const call of calls) {
      put(place, call, undefined);
      const outcome = await session.api
        .post<CallOutcome>('targets/test', { place, call })
        .catch(
          (error): CallOutcome => ({ result: 'failed', ms: 0, reason: asFailure(error).message }),
        );
      put(place, call, outcome);
    }
  };
  const testAll = async (targets: Target[]) => {
    for (const target of targets) await test(target);
  };
  const all = checks.value?.targets ?? [];
  return (
    <Page
      title="Models"
      subtitle="Each model's targets, in the order in which they are tried."
      actions={
        <button
          type="button"
          class="button"
          disabled={!session.isOperator || all.length === 0}
          onClick={() => void testAll(all)}
        >
          Test all
        </button>
      }
    >
      <Shown of={checks}>
        {({ targets, checks: found }) => (
          <>
            <div class="panel scroll">
              <Table
                caption="Targets"
                columns={columnsWith(outcomes, session.isOperator ? test : undefined)}
                rows={targets}
                keyOf={({ place }) => place}
              />
            </div>
            <section class="section">
              <h2>Configuration</h2>
              <div class="panel scroll">
                <Table
                  caption="Checks of the configuration"
                  columns={CHECK_COLUMNS}
                  rows={found}
                  keyOf={({ check, place }) => `${check} ${place}`}
                />
              </div>
            </section>
          </>
        )}
      </Shown>
    </Page>
  );
};
