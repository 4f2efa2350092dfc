import { describe, expect, test } from 'vitest';
import {
  UpstreamError,
  type UpstreamErrorKind,
} from '../../lambdas/protocols/rejections/upstream-error.ts';
import { tripRuleFor } from '../../lambdas/routing/breakers/trip-rules.ts';
import { classifyFailure, withRetryHint } from '../../lambdas/routing/classify-failure.ts';
import { invalidRequest } from '../../lambdas/support/errors.ts';
import { LOG_FIELDS } from '../support/log-fields.ts';
import { isThere, pinsIn, read } from './pins.ts';

const page = read('docs/reliability.md');

/** The rows of the tables that end with tests, without heads. */
const rows = page
  .split(/^\|.*\| Held by \|\n/m)
  .slice(1)
  .flatMap((rest) => rest.split('\n\n')[0]?.split('\n').slice(1) ?? [])
  .filter((line) => line.startsWith('| '))
  .map((line) => ({ line, cells: line.slice(2, -2).split(' | ') }));

test('docs/reliability.md has more than 50 rows', () => {
  expect(rows.length).toBeGreaterThan(50);
  // Every test that the page names is in a row.
  expect(rows.flatMap(({ line }) => pinsIn(line))).toHaveLength(page.split('`test/').length - 2);
});

test.each(rows.map(({ line, cells }) => ({ what: cells[0], line })))(
  'docs/reliability.md names an existing test for: $what',
  ({ line }) => {
    const pins = pinsIn(line);
    expect(pins).not.toEqual([]);
    expect(pins.filter((pin) => !isThere(pin))).toEqual([]);
  },
);

describe('the table of decisions', () => {
  const KINDS: Record<Exclude<UpstreamErrorKind, 'status' | 'idle-timeout'>, true> = {
    credential: true,
    'credential-refused': true,
    'no-quota': true,
    'unknown-model': true,
    connect: true,
    reset: true,
    'first-event-timeout': true,
    deadline: true,
    'output-limit': true,
    lossy: true,
    capacity: true,
    'context-overflow': true,
    redirect: true,
    malformed: true,
    truncated: true,
    'error-event': true,
    aborted: true,
  };
  const decisions = rows
    .filter(({ cells }) => cells.length === 5)
    .flatMap(({ cells: [failure = '', ...cells] }) =>
      [...failure.matchAll(/`([^`]+)`/g)].map(([, name = '']) => ({ name, cells })),
    );

  /** What the rule of a kind depends on. */
  const FACTS: Record<string, object> = {
    'credential-refused': { status: 401 },
    lossy: { cause: invalidRequest('') },
  };

  const faultOf = (name: string): UpstreamError =>
    /^\d+$/.test(name)
      ? new UpstreamError('status', '', { status: Number(name) })
      : new UpstreamError(name as UpstreamErrorKind, '', FACTS[name]);

  const tripOf = (fault: UpstreamError): string => {
    const rule = tripRuleFor(fault);
    if (!rule) return 'no';
    if (fault.status === 429) return 'at once, for its `retry-after`';
    const ms = rule.openMs(0);
    const length = ms >= 60_000 ? `${ms / 60_000} min` : `${ms / 1000} s`;
    return `${rule.after === 1 ? 'at once' : `after ${rule.after} in a row`}, ${length}`;
  };

  const answerOf = (fault: UpstreamError): string => {
    const { status, headers } = withRetryHint(classifyFailure(fault).error, []);
    if (headers['x-should-retry'] === 'false') return `${status}, do not retry`;
    return 'retry-after' in headers ? `${status} with \`retry-after\`` : String(status);
  };

  test('the table of decisions lists every kind of failure once', () => {
    const names = decisions.map(({ name }) => name).filter((name) => !/^\d+$/.test(name));
    expect(names.toSorted()).toEqual(Object.keys(KINDS).toSorted());
  });

  test.each(decisions)('the table of decisions matches the code for $name', ({ name, cells }) => {
    const fault = faultOf(name);
    const moves = classifyFailure(fault).retryNextTarget ? 'yes' : 'no';
    expect(cells.slice(0, 3)).toEqual([moves, tripOf(fault), answerOf(fault)]);
  });
});

test('docs/reliability.md lists every log field', () => {
  const listed = /no\s+others: ([^.]+)\./.exec(page)?.[1] ?? '';
  const names = [...listed.matchAll(/`(\w+)`/g)].map(([, name]) => name ?? '');
  expect(names.toSorted()).toEqual(Object.keys(LOG_FIELDS).toSorted());
});
