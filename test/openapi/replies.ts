import type { OperationName } from '../../lambdas/operations.ts';

type Reply = {
  /** @default 200 */
  status?: 201;
  /** Media type of a text. */
  text?: string;
  /** What a reader has to know besides. */
  about?: string;
};

const REVOKED = '409 if it is revoked';
const CONCURRENT = '409 if it was changed concurrently';
const MADE = '409 if the id already exists';
const ONCE = '`key` is shown only once';

const budgetsOf = <Prefix extends string>(prefix: Prefix, about: string) =>
  ({
    [`${prefix}budgets.show`]: { about: `${about}; 404 without one` },
    [`${prefix}budgets.set`]: { about },
    [`${prefix}budgets.delete`]: {},
  }) as Record<`${Prefix}budgets.${'show' | 'set' | 'delete'}`, Reply>;

/** What each operation responds. */
export const REPLIES: Record<OperationName, Reply> = {
  'projects.list': {},
  'projects.create': { status: 201, about: MADE },
  'projects.set': {
    about: `\`null\` removes the name, or allows all plans or any number of keys; ${CONCURRENT}`,
  },
  'projects.delete': { about: '409 with usable keys' },
  'webhooks.show': { about: 'without its secret; 404 without one' },
  'webhooks.set': {
    about:
      '`secret` is new each time and shown only once; the one before signs as well for 24 hours ([stored-responses.md](stored-responses.md#webhooks))',
  },
  'webhooks.delete': {},
  'plans.list': {},
  'plans.create': { status: 201, about: MADE },
  'plans.set': {
    about: `\`null\` allows all models, any number of requests in flight or any target; ${CONCURRENT}`,
  },
  'plans.delete': { about: '409 if a usable key has it' },
  'keys.list': {
    about:
      'by id, 1,000 on a page; `q` is part of a name, an id or the first characters; `count=true` adds how many match',
  },
  'keys.create': { status: 201, about: ONCE },
  'keys.show': {},
  'keys.set': {
    about: "`null` removes one; 400 above its plan's limit",
  },
  'keys.move': {},
  'keys.pause': { about: REVOKED },
  'keys.resume': { about: REVOKED },
  'keys.rotate': {
    status: 201,
    about: ONCE,
  },
  'keys.revoke': {},
  'keys.find': {
    about:
      '`sha256` of a whole key in hex, `start`: its first 13 characters, or `id`; 404 if none matches',
  },
  'budgets.list': {},
  'budgets.show': { about: '404 without one' },
  'budgets.set': {
    about: 'a new one needs `max_usd` and `period` ([budgets.md](budgets.md))',
  },
  'budgets.delete': {},
  ...budgetsOf('organisation-', 'of the whole deployment'),
  ...budgetsOf('key-', 'as of a project'),
  ...budgetsOf('users-', 'of each user without a separate one'),
  ...budgetsOf('user-', '`default`: it is that of each user'),
  ...budgetsOf('sessions-', 'of each session without a separate one'),
  ...budgetsOf('session-', '`default`: it is that of each session'),
  'members.list': {
    about:
      '`q` is the beginning of an address; status: `invited`, `active` or `disabled`; 404 without a console',
  },
  'members.invite': {
    status: 201,
    about:
      'invitation: `sent`, `sent again` before the first sign-in, else `none`; 409 if the user of this address has not verified it',
  },
  'members.set': {
    about:
      '409 if operators would end their own role, or if a user with an unverified address would get one',
  },
  'members.remove': {},
  'quotas.list': {
    about:
      'counts of a page of at most 200 keys, or of the keys with the ids in `keys` (commas between them); a page takes a read per key',
  },
  statement: {
    about: 'a month, what its meters counted in closed periods, and whether it is final',
  },
  usage: {
    about:
      'rows of day, project, key and model, 5,000 rows of one project on each page; with `by` their sums and the total, of at most 250,000 rows: 400 above; `limit` names the highest of `sort`, and one row `(other)` has the sums of all others',
  },
  reconcile: {
    about:
      'brings the history up to date; after 5 s it continues on the next page, also within a project. `unfinished`: this day has too many records for a request, the hourly run folds it',
  },
  export: {
    about:
      'rows of `focus`, or events of `cloudevents`, `openmeter`, `stripe` or `ndjson` ([costs.md](costs.md#exports))',
  },
  'requests.list': {
    about: 'the newest first',
  },
  'requests.show': {
    about: 'what happened, whose fault, charged or not and why, what to do; 404 if it is unknown',
  },
  'audit.list': {
    about: 'the newest first; `who` is a part of a name',
  },
  checks: {},
  overview: {
    about:
      'what the console shows first: 14 days by day with the sum `before` them, keys that have used half of a quota, failed requests of a day; a section that cannot be read is `{ failure }`',
  },
  'incidents.list': {
    about:
      'what fails, from the newest 2,000 requests of a day, as many refused ones, and the states of the targets; state: `failing`, `partly` or `over`',
  },
  'models.list': {
    about: 'what a plan or a key may be limited to',
  },
  'targets.measured': {
    about:
      'the newest 2,000 requests of a day: `first_content_ms` has the percentiles `p50`, `p95` and `p99` of streamed responses; what a caller caused is not `failed`',
  },
  'targets.list': {
    about:
      'state: `closed`, `open` or `half-open`; `retires?`, `successor?` and `keys_using?` only for a model with a date of [retirement](providers.md#retirement)',
  },
  metrics: {
    text: 'application/openmetrics-text',
    about: 'counters, histograms and states for [Prometheus](records.md#at-prometheus)',
  },
  calibration: {
    about: 'errors in percent; `counting` is null below ten receipts',
  },
  'targets.test': {},
  apply: {
    about: 'outcome: created, kept, changed or unchanged',
  },
};
