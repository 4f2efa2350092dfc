import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import { asFailure } from '../api/failure.ts';
import type { CallOutcome, Target, TargetMeasure } from '../api/types.ts';
import { Button, Clip, Instant, Page, Shown } from '../parts/blocks.tsx';
import { useShared } from '../parts/context.ts';
import { dollars, milliseconds, plural } from '../parts/format.ts';
import { useLoad } from '../parts/load.ts';
import { hrefOf } from '../parts/route.ts';
import { type Column, figures, Table } from '../parts/table.tsx';
import { Configuration } from './checks.tsx';
import { ByModel, MEASURES } from './measures.tsx';

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
      <span class={`pill is-${result === 'failed' ? 'bad' : 'warn'}`}>
        {call} {result}
      </span>
      <span class="quiet">
        {reason}
        {member && ` (look at ${member})`}
      </span>
    </span>
  );
};

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

/** A target with what its calls did; none of its model's others. */
type Row = Target & { measure?: TargetMeasure | undefined };

const targetOf = ({ upstream, upstream_model: name }: Target): string => `${upstream}/${name}`;

const Tested = ({ target, outcomes }: { target: Target; outcomes: Outcomes }) => {
  const tested = target.calls.filter((call) => Object.hasOwn(outcomes, keyOf(target.place, call)));
  return (
    <span class="row">
      {tested.map((call) => (
        <Outcome key={call} call={call} outcome={outcomes[keyOf(target.place, call)]} />
      ))}
    </span>
  );
};

const columnsWith = (
  outcomes: Outcomes,
  onTest: ((target: Target) => void) | undefined,
): Column<Row>[] => [
  {
    title: 'Model',
    cell: (target) => (
      <>
        <Clip
          look="strong"
          text={target.model}
          href={hrefOf('requests', { model: target.model })}
        />
        <Retirement {...target} />
      </>
    ),
    sort: ({ model }) => model,
    total: (rows) => plural(rows.length, 'target'),
  },
  {
    title: 'Target',
    cell: (target) => (
      <>
        <Clip
          look="plain"
          text={targetOf(target)}
          href={hrefOf('requests', { target: targetOf(target) })}
        />
        <span class="quiet clip">
          {target.account && `${target.account} · `}
          {target.protocol} · <span class="mono">{target.place}</span>
        </span>
        {target.limits && target.limits_at && (
          <span class="quiet">
            left at the provider, <Instant at={target.limits_at} />: {target.limits}
          </span>
        )}
      </>
    ),
    sort: targetOf,
  },
  {
    title: 'State',
    cell: (target) => (
      <>
        <State {...target} />
        <Tested target={target} outcomes={outcomes} />
      </>
    ),
    sort: ({ state }) => STATES[state].text,
  },
  figures('Price (1M)', ({ output_price_per_m: output }) => output, {
    cell: ({ input_price_per_m: input, output_price_per_m: output }) => (
      <>
        {dollars(input)} in
        <small>{dollars(output)} out</small>
      </>
    ),
  }),
  ...MEASURES,
  {
    title: 'Actions',
    kind: 'actions',
    cell: (target) =>
      onTest && (
        <span class="row-actions">
          <Button
            look="is-small"
            aria-label={`Test ${target.model} at ${target.upstream}`}
            disabled={isTesting(outcomes, target)}
            onClick={() => onTest(target)}
          >
            Test
          </Button>
        </span>
      ),
  },
];

/** The catalog's targets, the checks of the doctor, and a test of each target. */
export const ModelsPage = () => {
  const { session } = useShared();
  const listed = useLoad('', () => session.api('targets.list', {}));
  const measured = useLoad('', () => session.api('targets.measured', {}));
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
  const measureOf = (target: Target) =>
    measured.value?.targets.find(
      (one) => one.model === target.model && one.target === targetOf(target),
    );
  return (
    <Page
      title="Models"
      subtitle="Each model's targets, in the order in which they are tried."
      actions={
        session.isOperator && (
          <Button
            disabled={all.length === 0 || all.some((target) => isTesting(outcomes, target))}
            onClick={() => void testAll(all)}
          >
            Test all
          </Button>
        )
      }
    >
      <Shown of={listed}>
        {({ data }) => (
          <Table
            look="scroll names"
            caption="Targets"
            columns={columnsWith(outcomes, session.isOperator ? test : undefined)}
            rows={data.map((target) => ({ ...target, measure: measureOf(target) }))}
            keyOf={({ place }) => place}
          />
        )}
      </Shown>
      {/* A refusal of the targets is shown once. */}
      {listed.value && <Shown of={measured}>{(value) => <ByModel measured={value} />}</Shown>}
      {session.isOperator && <Configuration />}
    </Page>
  );
};
