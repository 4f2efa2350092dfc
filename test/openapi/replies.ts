import type { OperationName } from '../../lambdas/operations.ts';

type Reply = {
  /** @default 200 */
  status?: 201;
  /** The members; `?` after one that may be absent, `…` for further ones. A text has its media type. */
  body: string;
  /** What a reader has to know besides. */
  about?: string;
};

const PROJECT = '{ id, name?, plans?, max_keys?, unreadable?, created_at, deleted_at? }';
const PLAN =
  '{ id, rpm?, quota?, period?, concurrency?, models?, replay?, state?, require?, max_wait_ms?, priority?, weight?, unreadable? }';
const KEY = `{ id, project, plan, start, name?, status, rpm?, quota?, concurrency?, models?, require?, budgets?, created_at, expires_at?, replaced_by? }`;
const NEW_KEY = KEY.replace('{ id', '{ key, id');
const BUDGET = '{ scope, id, project?, max_usd, period, paused?, set_by, set_at }';
const SPENT = BUDGET.replace(
  ' }',
  ', spent_usd?, leased_usd?, remaining_usd?, forecast_usd?, resets_at?, default? }',
);
const MEMBER = '{ email, roles }';
const REVOKED = '409 if it is revoked';
const CONCURRENT = '409 if it was changed concurrently';
const MADE = '409 if the id already exists';
const ONCE = '`key` is shown only once';

const budgetsOf = <Prefix extends string>(prefix: Prefix, about: string) =>
  ({
    [`${prefix}budgets.show`]: { body: SPENT, about: `${about}; 404 without one` },
    [`${prefix}budgets.set`]: { body: BUDGET, about },
    [`${prefix}budgets.delete`]: { body: BUDGET.replace(' }', ', deleted }') },
  }) as Record<`${Prefix}budgets.${'show' | 'set' | 'delete'}`, Reply>;

/** What each operation responds. */
export const REPLIES: Record<OperationName, Reply> = {
  'projects.list': { body: `{ data: [${PROJECT}] }` },
  'projects.create': { status: 201, body: PROJECT, about: MADE },
  'projects.set': {
    body: PROJECT,
    about: `\`null\` removes the name, or allows all plans or any number of keys; ${CONCURRENT}`,
  },
  'projects.delete': { body: PROJECT, about: '409 with usable keys' },
  'plans.list': { body: `{ data: [${PLAN}] }` },
  'plans.create': { status: 201, body: PLAN, about: MADE },
  'plans.set': {
    body: PLAN,
    about: `\`null\` allows all models, any number of requests in flight or any target; ${CONCURRENT}`,
  },
  'plans.delete': { body: '{ id, deleted }', about: '409 if a usable key has it' },
  'keys.list': {
    body: `{ data: [${KEY}], next_cursor, total? }`,
    about:
      'by id, 1,000 on a page; `q` is part of a name, an id or the first characters; `count=true` adds how many match',
  },
  'keys.create': { status: 201, body: NEW_KEY, about: ONCE },
  'keys.show': { body: KEY },
  'keys.set': {
    body: KEY,
    about: "`null` removes one; 400 above its plan's limit",
  },
  'keys.move': { body: KEY },
  'keys.pause': { body: KEY, about: REVOKED },
  'keys.resume': { body: KEY, about: REVOKED },
  'keys.rotate': {
    status: 201,
    body: NEW_KEY.replace(' }', ', replaces, overlap, old_key_ended }'),
    about: ONCE,
  },
  'keys.revoke': { body: '{ id, project, status }' },
  'keys.find': {
    body: `{ data: [${KEY}] }`,
    about:
      '`sha256` of a whole key in hex, `start`: its first 13 characters, or `id`; 404 if none matches',
  },
  'budgets.list': { body: `{ data: [${SPENT}] }` },
  'budgets.show': { body: SPENT, about: '404 without one' },
  'budgets.set': {
    body: BUDGET,
    about: 'a new one needs `max_usd` and `period` ([budgets.md](budgets.md))',
  },
  'budgets.delete': { body: BUDGET.replace(' }', ', deleted }') },
  ...budgetsOf('organisation-', 'of the whole deployment'),
  ...budgetsOf('key-', 'as of a project'),
  ...budgetsOf('users-', 'of each user without a separate one'),
  ...budgetsOf('user-', '`default`: it is that of each user'),
  ...budgetsOf('sessions-', 'of each session without a separate one'),
  ...budgetsOf('session-', '`default`: it is that of each session'),
  'members.list': {
    body: '{ data: [{ email, roles, status, invited_at }], next_cursor }',
    about:
      '`q` is the beginning of an address; status: `invited`, `active` or `disabled`; 404 without a console',
  },
  'members.invite': {
    status: 201,
    body: '{ email, roles, invitation }',
    about:
      'invitation: `sent`, `sent again` before the first sign-in, else `none`; 409 if the user of this address has not verified it',
  },
  'members.set': {
    body: MEMBER,
    about:
      '409 if operators would end their own role, or if a user with an unverified address would get one',
  },
  'members.remove': { body: '{ email, removed }' },
  'quotas.list': {
    body: '{ data: [{ id, name?, status, plan, meter, unreadable?, quota?, period?, used?, reserved?, remaining?, resets_at?, rpm?, used_this_minute?, last_used_at? }], next_cursor }',
    about:
      'counts of a page of at most 200 keys, or of the keys with the ids in `keys` (commas between them); a page takes a read per key',
  },
  statement: {
    body: '{ project, month, is_final, age_seconds, as_of, by_model, by_key, by_user, by_session, by_agent, by_client, total, periods }',
    about: 'a month, what its meters counted in closed periods, and whether it is final',
  },
  usage: {
    body: '{ from, to, age_seconds, as_of, by?, data, total?, next_cursor }',
    about:
      'rows of day, project, key and model, 5,000 rows of one project on each page; with `by` their sums and the total, of at most 250,000 rows: 400 above',
  },
  reconcile: {
    body: '{ data: [{ project, meter?, period?, used?, recorded?, difference?, unfinished?, unreadable? }], next_cursor }',
    about:
      'brings the history up to date; after 5 s it continues on the next page, also within a project. `unfinished`: this day has too many records for a request, the hourly run folds it',
  },
  export: {
    body: '{ format, from, to, data, next_cursor, … }',
    about:
      'rows of `focus`, or events of `cloudevents`, `openmeter`, `stripe` or `ndjson` ([costs.md](costs.md#exports))',
  },
  'requests.list': {
    body: '{ data: [{ id, key, key_name, status, error, charged, … }], next_cursor }',
    about: 'the newest first',
  },
  'requests.show': {
    body: '{ id, key, key_name, what, whose_fault, charged, charged_why, next, timeline, … }',
    about: 'what happened, whose fault, charged or not and why, what to do; 404 if it is unknown',
  },
  'audit.list': {
    body: '{ data: [{ id, at, who, action, outcome, project?, plan?, key?, member?, before?, after?, request }], next_cursor }',
    about: 'the newest first; `who` is a part of a name',
  },
  checks: {
    body: '{ now, checks: [{ check, result, place?, reason? }], targets: [{ place, model, upstream, calls }] }',
  },
  overview: {
    body: '{ projects, plans, usage, near, failed }',
    about:
      'what the console shows first: 14 days by day with the sum `before` them, keys that have used half of a quota, failed requests of a day; a section that cannot be read is `{ failure }`',
  },
  'incidents.list': {
    body: '{ of_requests, is_all, since, data: [{ state, what, error, whose_fault, target, models, since, is_since_exact, last, recovered_at, requests, failed, projects, keys, key_count, recovery, runbook, newest_request, held_off_until }] }',
    about:
      'what fails, from the newest 2,000 requests of a day, as many refused ones, and the states of the targets; state: `failing`, `partly` or `over`',
  },
  'models.list': {
    body: '{ data: [{ id, retires }] }',
    about: 'what a plan or a key may be limited to',
  },
  'targets.measured': {
    body: '{ of_requests, is_all, since, models: [{ model, requests, failed, cost_usd, first_content_ms }], targets: [{ model, target, … }] }',
    about:
      'the newest 2,000 requests of a day: `first_content_ms` has the percentiles `p50`, `p95` and `p99` of streamed responses; what a caller caused is not `failed`',
  },
  'targets.list': {
    body: '{ data: [{ place, model, upstream, protocol, upstream_model, calls, state, open_until?, openings?, … }] }',
    about:
      'state: `closed`, `open` or `half-open`; `retires?`, `successor?` and `keys_using?` only for a model with a date of [retirement](providers.md#retirement)',
  },
  metrics: {
    body: 'application/openmetrics-text',
    about: 'counters, histograms and states for [Prometheus](records.md#at-prometheus)',
  },
  calibration: {
    body: '{ data: [{ place, target, receipts, median_error_before?, p90_error_before?, median_error_after?, p90_error_after?, counting }] }',
    about: 'errors in percent; `counting` is null below ten receipts',
  },
  'targets.test': { body: '{ check, result, ms, place, reason? }' },
  apply: {
    body: '{ projects: [{ id, outcome }], plans: [{ id, outcome }] }',
    about: 'outcome: created, kept, changed or unchanged',
  },
};
