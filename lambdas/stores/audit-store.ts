import type { NamesOf } from '../operations.ts';

type WithoutOwner<Name extends string> = Name extends `${string}budgets.${infer Verb}`
  ? `budgets.${Verb}`
  : Name;
/** What an operator or a member of a project did: budgets of keys, users and so on are budgets here. */
export type Action = WithoutOwner<NamesOf<'change'>>;

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
  before?: Fields | undefined;
  after?: Fields;
};

/** A change as its operation states it: what the request names is left out. */
export type Made = Omit<Change, 'action'> & { action?: Action };

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
