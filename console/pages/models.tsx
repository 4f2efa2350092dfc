import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import { asFailure } from '../api/failure.ts';
import type { CallOutcome, Check, Target } from '../api/types.ts';
import { useShared } from '../parts/context.ts';
import { dollars, milliseconds } from '../parts/format.ts';
import { useLoad } from '../parts/load.ts';
import { Page } from '../parts/page.tsx';
import { Shown } from '../parts/states.tsx';
import { type Column, Table } from '../parts/table.tsx';
import { Instant } from '../parts/time.tsx';

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

/** Dollars for a million tokens. */
const priceOf = ({ input_price_per_m: input, output_price_per_m: output }: Target): string =>
  `${dollars(input)} in, ${dollars(output)} out per M tokens`;

/** "14 keys still use it" is the reason to act. */
const Retirement = ({ retires, successor, keys_using: keys }: Target) =>
  retires === undefined ? null : (
    <span class="quiet">
      retires {retires}
      {successor && `, then ${successor}`}
      {` · ${keys} ${keys === 1 ? 'key' : 'keys'} used it in 7 days`}
    </span>
  );

const STATES = {
  closed: { text: 'available', tone: 'good' },
  'half-open': { text: 'trying one request', tone: 'warn' },
  open: { text: 'not asked', tone: 'bad' },
};

const State = ({ state, open_until: until }: Target) => {
  const { text, tone } = STATES[state];
  return (
    <>
      <span class={`pill is-${tone}`}>{text}</span>
      {state === 'open' && until && (
        <span class="quiet clip">
          until <Instant at={until} />
        </span>
      )}
    </>
  );
};

const isTesting = (outcomes: Outcomes, { place, calls }: Target): boolean =>
  calls.map((call) => keyOf(place, call)).some((key) => key in outcomes && !outcomes[key]);

const columnsWith = (
  outcomes: Outcomes,
  onTest: ((target: Target) => void) | undefined,
): Column<Target>[] => [
  {
    title: 'Model',
    cell: (target) => (
      <>
        <strong class="clip">{target.model}</strong>
        <span class="quiet">{priceOf(target)}</span>
        <Retirement {...target} />
      </>
    ),
  },
  {
    title: 'Target',
    cell: ({ upstream, upstream_model: name, protocol, place, limits, limits_at: at }) => (
      <>
        <span class="clip">
          {upstream} / {name}
        </span>
        <span class="quiet clip">
          {protocol} · <span class="mono">{place}</span>
        </span>
        {limits && at && (
          <span class="quiet">
            left at the provider, <Instant at={at} />: {limits}
          </span>
        )}
      </>
    ),
  },
  { title: 'State', cell: State },
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
            disabled={isTesting(outcomes, target)}
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

const Configuration = () => {
  const { session } = useShared();
  const checks = useLoad('', () => session.api('checks', {}));
  return (
    <section class="section">
      <h2>Configuration</h2>
      <Shown of={checks}>
        {({ checks: found }) => (
          <div class="panel scroll">
            <Table
              caption="Checks of the configuration"
              columns={CHECK_COLUMNS}
              rows={found}
              keyOf={({ check, place }) => `${check} ${place}`}
            />
          </div>
        )}
      </Shown>
    </section>
  );
};

/** The catalog's targets, the checks of the doctor, and a test of each target. */
export const ModelsPage = () => {
  const { session } = useShared();
  const listed = useLoad('', () => session.api('targets.list', {}));
  const [outcomes, setOutcomes] = useState<Outcomes>({});
  // Each call is paid for: none begins once the page is left.
  const isLeft = useRef(false);
  useLayoutEffect(
    () => () => {
      isLeft.current = true;
    },
    [],
  );
  const put = (place: string, call: string, outcome: CallOutcome | undefined) =>
    setOutcomes((old) => ({ ...old, [keyOf(place, call)]: outcome }));
  const test = async ({ place, calls }: Target) => {
    for (const call of calls) {
      if (isLeft.current) return;
      put(place, call, undefined);
      const outcome = await session
        .api('targets.test', {}, { place, call })
        .catch(
          (error): CallOutcome => ({ result: 'failed', ms: 0, reason: asFailure(error).message }),
        );
      put(place, call, outcome);
    }
  };
  const testAll = async (targets: Target[]) => {
    for (const target of targets) await test(target);
  };
  const all = listed.value?.data ?? [];
  return (
    <Page
      title="Models"
      subtitle="Each model's targets, in the order in which they are tried."
      actions={
        session.isOperator && (
          <button
            type="button"
            class="button"
            disabled={all.length === 0 || all.some((target) => isTesting(outcomes, target))}
            onClick={() => void testAll(all)}
          >
            Test all
          </button>
        )
      }
    >
      <Shown of={listed}>
        {({ data }) => (
          <div class="panel scroll">
            <Table
              caption="Targets"
              columns={columnsWith(outcomes, session.isOperator ? test : undefined)}
              rows={data}
              keyOf={({ place }) => place}
            />
          </div>
        )}
      </Shown>
      {session.isOperator && <Configuration />}
    </Page>
  );
};
