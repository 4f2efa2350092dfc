import type { RequestRecord } from '../api/types.ts';
import { Instant, Page, Shown } from '../parts/blocks.tsx';
import { useShared } from '../parts/context.ts';
import { Copied } from '../parts/copy.tsx';
import { Facts } from '../parts/facts.tsx';
import { count, dollars, milliseconds } from '../parts/format.ts';
import { useLoad } from '../parts/load.ts';
import { hrefOf } from '../parts/route.ts';
import { RunbookLink } from '../parts/runbook-link.tsx';
import { StatusPill } from '../parts/status-pill.tsx';

/** Whose it is to prevent it. */
const FAULTS: Record<RequestRecord['whose_fault'], string> = {
  none: 'none',
  caller: 'the caller, by the request itself',
  provider: 'the provider',
  operator: 'the operator, by the configuration of the router',
  router: 'the router',
};

const STEP = /^\+(\d+) ms\s+(.*)$/;
const FAILED = /\bfailed:|error|status [45]\d\d|ended early/;

const Timeline = ({ lines }: { lines: string[] }) => (
  <ol class="timeline">
    {lines.map((line) => {
      const [, ms = '', text = line] = STEP.exec(line) ?? [];
      return (
        <li key={line} class={FAILED.test(text) ? 'is-bad' : ''}>
          <span class="at">{ms === '' ? '' : milliseconds(Number(ms))}</span>
          <span>{text}</span>
        </li>
      );
    })}
  </ol>
);

const Tokens = ({ usage, cost_source, cost_incomplete }: RequestRecord) => {
  const { input_tokens: input, output_tokens: output, cost_usd: cost } = usage;
  if (input === undefined && output === undefined) return <>none reported</>;
  return (
    <>
      {count(input ?? 0)} in, {count(output ?? 0)} out
      {usage.cache_read_tokens ? `, ${count(usage.cache_read_tokens)} from a cache` : ''}
      {cost === undefined ? '' : ` · ${dollars(cost)}`}
      {cost_source === 'estimated' ? ', estimated' : ''}
      {cost_incomplete?.length ? `, without a price for ${cost_incomplete.join(', ')}` : ''}
    </>
  );
};

type Named = Pick<
  Extract<RequestRecord, { tags: unknown }>,
  'project' | 'user' | 'session' | 'agent' | 'client' | 'tags'
>;

/** Each with a link to its requests; undefined for none. */
const linksOf = ({ project, user, session, agent, client, tags }: Named) => {
  const tagged = Object.entries(tags).map(([name, value]) => ['tag', `${name}=${value}`]);
  const named = [...Object.entries({ user, session, agent, client }), ...tagged];
  const links = named.flatMap(([name = '', value]) =>
    value ? (
      <a key={value} class="nowrap" href={hrefOf('requests', { project, [name]: value })}>
        {name} {value}{' '}
      </a>
    ) : (
      []
    ),
  );
  return links.length === 0 ? undefined : links;
};

const RequestFacts = ({ record }: { record: RequestRecord }) => (
  <Facts
    of={{
      Started: <Instant at={record.created_at} />,
      Model: `${record.model} over ${record.protocol}${record.streamed ? ', streamed' : ''}`,
      Key: (
        <>
          <a class="mono" href={hrefOf('keys', { project: record.project, id: record.key })}>
            {record.key_name ?? record.key}
          </a>{' '}
          · project {record.project} · plan {record.plan}
        </>
      ),
      Duration: [
        milliseconds(record.ms),
        record.first_content_ms !== null &&
          `, first content after ${milliseconds(record.first_content_ms)}`,
      ],
      Tokens: <Tokens {...record} />,
      'Why its target': record.why_target,
      Cache: record.cache && (
        <>
          {record.cache.what}{' '}
          <a class="mono" href={hrefOf('requests', { id: record.cache.turn_before })}>
            The turn before
          </a>
        </>
      ),
      For: 'tags' in record && linksOf(record),
      Loop:
        'loop' in record &&
        record.loop &&
        'The last steps of its conversation repeat each other. A plan may stop such requests.',
      Cause: record.whose_fault !== 'none' && FAULTS[record.whose_fault],
    }}
  />
);

/** One request: the verdict, its steps, and what to do. */
export const RequestDetails = ({ id }: { id: string }) => {
  const { session } = useShared();
  const request = useLoad(id, () => session.api('requests.show', { request: id }));
  return (
    <Page title="Request" subtitle={<Copied text={id} label="the request id" />}>
      <Shown of={request}>
        {(record) => (
          <div class="panel is-padded">
            <p class="page-actions">
              <StatusPill {...record} />
            </p>
            <p class="verdict">
              <strong>{record.what}</strong>
            </p>
            {record.whose_fault !== 'none' && (
              <p class="todo">
                <strong>What to do:</strong> {record.next}
                {'runbook' in record && record.runbook && (
                  <>
                    {' '}
                    <RunbookLink anchor={record.runbook} />
                  </>
                )}
              </p>
            )}
            <Timeline lines={record.timeline} />
            <RequestFacts record={record} />
          </div>
        )}
      </Shown>
      <p class="more">
        <a href={hrefOf('requests')}>All requests</a>
      </p>
    </Page>
  );
};
