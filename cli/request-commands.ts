import type { Command } from './command.ts';
import { moreNote, type Row, rowsIn, textOf } from './format.ts';
import type { OptionName } from './options.ts';

const COLUMNS = 'id created_at project key model status outcome error charged ms'.split(' ');

/** What a request failed at. */
const OF: OptionName[] = ['model', 'target', 'error', 'fault'];

/** For whom a request was. */
const FOR: OptionName[] = ['user', 'session', 'agent', 'client', 'tag'];

const forWhom = (request: Row): string | undefined => {
  const { tags, ...rest } = Object.fromEntries(
    ['user', 'session', 'agent', 'client', 'tags'].map((name) => [name, request[name]]),
  );
  const named = Object.entries({ ...rest, ...(tags as object) }).filter(([, value]) => value);
  return named.map(([name, value]) => `${name} ${textOf(value)}`).join(', ') || undefined;
};

const RUNBOOKS = 'docs/operations.md';

const usageOf = (usage: unknown): string =>
  typeof usage === 'object' && usage !== null
    ? Object.entries(usage)
        .map(([name, value]) => `${name.replaceAll('_', ' ')} ${textOf(value)}`)
        .join(', ')
    : '-';

/** The limit that a refused request is above, and what of it the request had. */
const ruleOf = (rule: unknown): Row => {
  if (typeof rule !== 'object' || rule === null) return {};
  const { name, limit, value } = rule as Row;
  const parts = [name, limit === null ? '' : `limit ${textOf(limit)}`];
  return {
    rule: [...parts, value === null ? '' : `got ${textOf(value)}`].filter(Boolean).join(', '),
  };
};

/** The answer to "what happened, whose fault was it, was it charged, what now?" first, the details after it. */
const printRequest = (request: Row): string => {
  const { runbook, usage, timeline } = request;
  const fields: Row = {
    what: request.what,
    fault: request.whose_fault,
    charged: request.charged_why,
    ...ruleOf(request.rule),
    next: request.next,
    ...(typeof runbook === 'string' && { runbook: `${RUNBOOKS}#${runbook}` }),
    request: request.id,
    at: request.created_at,
    project: request.project,
    key: [request.key, request.key_name].filter(Boolean).map(textOf).join(' '),
    plan: request.plan,
    model: request.model,
    ...(typeof request.why_target === 'string' && { target: request.why_target }),
    status: request.status,
    for: forWhom(request),
    usage: usageOf(usage),
  };
  const rows = Object.entries(fields).map(([name, value]) => `${name.padEnd(8)} ${textOf(value)}`);
  return [...rows, '', ...rowsIn<string>(timeline).map((line) => `  ${textOf(line)}`)].join('\n');
};

export const REQUEST_COMMANDS: Record<string, Command> = {
  'incidents list': {
    lists: {
      data: 'state what models target whose_fault since requests projects runbook'.split(' '),
    },
  },
  'requests list': {
    options: ['project', 'key', 'status', ...OF, ...FOR, 'since', 'until', 'limit', 'follow'],
    // Where a change has a list of models, a query has one.
    reads: { model: { read: (models) => models.at(-1) } },
    lists: { data: COLUMNS },
    example: '--status failed --since 1h',
    note: moreNote,
  },
  'requests show': {
    operands: { request: 'REQUEST-ID' },
    print: printRequest,
  },
};
