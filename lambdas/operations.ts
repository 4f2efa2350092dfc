/** CONTRACT with cli/ and console/: the operations of the admin API, as data. */

/**
 * What an operation requires. `operate`: an operator; `manage-project` and `see-project`: that for the project of
 * its path; `see-all`: an operator or a viewer; `see-own`: any role, and the operation returns only what it may see.
 */
export type Need = 'operate' | 'manage-project' | 'see-project' | 'see-all' | 'see-own';

/** `read` is a GET, the others are a POST with a JSON body; of each `change` the audit has an entry. */
type Kind = 'read' | 'run' | 'change';

const PROJECT = '/projects/{project}';
const KEY = `${PROJECT}/keys/{key}` as const;

type BudgetRows<Prefix extends string, Path extends string> = Record<
  `${Prefix}budgets.show`,
  readonly ['read', Need, `${Path}/budget`]
> &
  Record<`${Prefix}budgets.set`, readonly ['change', Need, `${Path}/budget`]> &
  Record<`${Prefix}budgets.delete`, readonly ['change', Need, `${Path}/budget/delete`]>;

const budgetsOf = <Prefix extends string, Path extends string>(
  prefix: Prefix,
  path: Path,
  sees: Need,
  sets: Need,
) =>
  ({
    [`${prefix}budgets.show`]: ['read', sees, `${path}/budget`],
    [`${prefix}budgets.set`]: ['change', sets, `${path}/budget`],
    [`${prefix}budgets.delete`]: ['change', sets, `${path}/budget/delete`],
  }) as BudgetRows<Prefix, Path>;

/** By name: kind, what it requires, and the path below `/admin`; each `{name}` is one segment. */
export const OPERATIONS = {
  'projects.list': ['read', 'see-own', '/projects'],
  'projects.create': ['change', 'operate', '/projects'],
  'projects.set': ['change', 'operate', PROJECT],
  'projects.delete': ['change', 'operate', `${PROJECT}/delete`],
  'webhooks.show': ['read', 'manage-project', `${PROJECT}/webhook`],
  'webhooks.set': ['change', 'manage-project', `${PROJECT}/webhook`],
  'webhooks.delete': ['change', 'manage-project', `${PROJECT}/webhook/delete`],
  'plans.list': ['read', 'see-own', '/plans'],
  'plans.create': ['change', 'operate', '/plans'],
  'plans.set': ['change', 'operate', '/plans/{plan}'],
  'plans.delete': ['change', 'operate', '/plans/{plan}/delete'],
  'keys.list': ['read', 'see-project', `${PROJECT}/keys`],
  'keys.create': ['change', 'manage-project', `${PROJECT}/keys`],
  'keys.show': ['read', 'see-project', KEY],
  'keys.set': ['change', 'manage-project', KEY],
  'keys.move': ['change', 'operate', `${KEY}/move`],
  'keys.pause': ['change', 'manage-project', `${KEY}/pause`],
  'keys.resume': ['change', 'manage-project', `${KEY}/resume`],
  'keys.rotate': ['change', 'manage-project', `${KEY}/rotate`],
  'keys.revoke': ['change', 'manage-project', `${KEY}/revoke`],
  'keys.find': ['run', 'see-own', '/keys/find'],
  'budgets.list': ['read', 'see-all', '/budgets'],
  ...budgetsOf('organisation-', '', 'see-all', 'operate'),
  ...budgetsOf('', PROJECT, 'see-project', 'operate'),
  ...budgetsOf('key-', KEY, 'see-project', 'manage-project'),
  ...budgetsOf('users-', `${PROJECT}/users`, 'see-project', 'manage-project'),
  ...budgetsOf('user-', `${PROJECT}/users/{user}`, 'see-project', 'manage-project'),
  ...budgetsOf('sessions-', `${PROJECT}/sessions`, 'see-project', 'manage-project'),
  ...budgetsOf('session-', `${PROJECT}/sessions/{session}`, 'see-project', 'manage-project'),
  'members.list': ['read', 'see-all', '/members'],
  'members.invite': ['change', 'operate', '/members'],
  'members.set': ['change', 'operate', '/members/{member}'],
  'members.remove': ['change', 'operate', '/members/{member}/remove'],
  'quotas.list': ['read', 'see-project', `${PROJECT}/usage`],
  statement: ['read', 'see-project', `${PROJECT}/statements/{month}`],
  usage: ['read', 'see-own', '/usage'],
  reconcile: ['run', 'operate', '/history/reconcile'],
  export: ['read', 'see-own', '/exports/{format}'],
  'requests.list': ['read', 'see-own', '/requests'],
  'requests.show': ['read', 'see-own', '/requests/{request}'],
  'audit.list': ['read', 'see-own', '/audit'],
  checks: ['read', 'operate', '/checks'],
  overview: ['read', 'see-own', '/overview'],
  'incidents.list': ['read', 'see-all', '/incidents'],
  'models.list': ['read', 'see-own', '/models'],
  'targets.list': ['read', 'see-all', '/targets'],
  'targets.measured': ['read', 'see-all', '/targets/measured'],
  metrics: ['read', 'see-all', '/metrics'],
  calibration: ['read', 'see-all', '/calibration'],
  'targets.test': ['run', 'operate', '/targets/test'],
  apply: ['change', 'operate', '/apply'],
} as const satisfies Record<string, readonly [Kind, Need, string]>;

export type OperationName = keyof typeof OPERATIONS;

export type NamesOf<K extends Kind> = {
  [Name in OperationName]: (typeof OPERATIONS)[Name][0] extends K ? Name : never;
}[OperationName];

type Named<Path> = Path extends `${string}{${infer Name}}${infer Rest}`
  ? Name | Named<Rest>
  : never;
export type ParametersOf<Name extends OperationName> = Record<
  Named<(typeof OPERATIONS)[Name][2]>,
  string
>;

export const namesIn = (path: string): string[] =>
  [...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => name);

export const methodOf = (name: OperationName): 'GET' | 'POST' =>
  OPERATIONS[name][0] === 'read' ? 'GET' : 'POST';

/** A path below `/admin`, with the defined members of the query. */
export const addressOf = (
  name: OperationName,
  parameters: Readonly<Record<string, string>>,
  query: Readonly<Record<string, unknown>> = {},
): string => {
  const path = OPERATIONS[name][2].replace(/\{(\w+)\}/g, (_, parameter) =>
    encodeURIComponent(parameters[parameter] ?? ''),
  );
  const pairs = Object.entries(query)
    .filter(([, value]) => value !== undefined && value !== '')
    .map(([member, value]) => `${member}=${encodeURIComponent(String(value))}`);
  return pairs.length === 0 ? path : `${path}?${pairs.join('&')}`;
};
