/** What an operator or a member of a project did. */
export type Action =
  | 'apply'
  | 'projects.create'
  | 'projects.set'
  | 'projects.delete'
  | 'webhooks.set'
  | 'webhooks.delete'
  | 'plans.create'
  | 'plans.set'
  | 'plans.delete'
  | 'keys.create'
  | 'keys.set'
  | 'keys.move'
  | 'keys.pause'
  | 'keys.resume'
  | 'keys.rotate'
  | 'keys.revoke'
  | 'budgets.set'
  | 'budgets.delete'
  | 'members.invite'
  | 'members.set'
  | 'members.remove';

type Fields = Record<string, unknown>;

/** A change of one project, plan, key or member of the console. Never a secret or its hash: keys are named by their ids. */
export type Change = {
  action: Action;
  project?: string;
  plan?: string;
  key?: string;
  /** E-mail address. */
  member?: string;
  /** The fields before it; absent for what it created. */
  before?: Fields;
  after?: Fields;
};

export type AuditEntry = Change & {
  /** Sorts by time; two changes of one request have different ones. */
  id: string;
  requestId: string;
  /** Milliseconds since the epoch; when the request arrived. */
  changedAt: number;
  /** Name of the identity that made the request. */
  who: string;
  /** `unknown`: a process or table failed during the change; `after` has what was requested. */
  outcome: 'applied' | 'unchanged' | 'unknown';
};

/** Instants in ms; `from` is included, `to` is not. */
export type AuditRange = {
  from: number;
  to: number;
  /** Continues a list after the entry with this id. */
  before?: string | undefined;
};

/** Implemented by `createDynamoAuditStore` (stores/dynamo/audit-store.ts). @throws StoreUnavailable */
export type AuditStore = {
  /** Idempotent; an entry whose outcome is unknown never replaces another. */
  putEntry(entry: AuditEntry): Promise<void>;
  /** The newest first. */
  listEntries(range: AuditRange): AsyncGenerator<AuditEntry, void, void>;
};
