import type { ReplyOf } from '../../lambdas/admin/operations.ts';
import type { CallOutcome } from '../../lambdas/admin/target-test.ts';
import type { createUsageGroups, Grouping } from '../../lambdas/history/read-usage.ts';
import type { OperationName } from '../../lambdas/operations.ts';
import type { recordForOperator } from '../../lambdas/records/public-record.ts';

type Reply = { [Name in OperationName]: ReplyOf<Name> };
type RowOf<Name extends OperationName> = Reply[Name] extends { data: (infer Row)[] } ? Row : never;

/** What the admin API responds with; every list has the member `data`. */
export type List<T> = { data: T[] };
/** A list in pages: `next_cursor` is the parameter `cursor` of the next one. */
export type PagedList<T> = List<T> & { next_cursor: string | null; total?: number };

export type Key = Reply['keys.show'];
/** A new key, or a successor; the only responses that contain the key itself. */
export type NewKey = Reply['keys.create'];
export type Rotated = Reply['keys.rotate'];
export type Project = RowOf<'projects.list'>;
/** Of an unreadable one, which a later version wrote, only the id is known. */
export type Plan = Reply['plans.create'] & { unreadable?: true };
export type KeyUsage = RowOf<'quotas.list'>;
export type Webhook = Reply['webhooks.show'];
export type Member = RowOf<'members.list'>;
export type AuditEntry = RowOf<'audit.list'>;
export type Incident = RowOf<'incidents.list'>;
export type Target = RowOf<'targets.list'>;
export type Measured = Reply['targets.measured'];
export type TargetMeasure = Measured['targets'][number];
export type { CallOutcome };
export type Check = { check: string; result: string; place?: string; reason?: string };
/** Of one that counts for each user or session, the sums are absent. */
export type Budget = Reply['budgets.set'] &
  Partial<Record<'spent_usd' | 'leased_usd' | 'forecast_usd', number>>;
export type RequestSummary = RowOf<'requests.list'>;
export type RequestRecord = ReturnType<typeof recordForOperator> & { key_name: string | null };

type AnyGrouping = Grouping | 'user' | 'session' | 'agent' | 'client';
export type UsageSums = ReturnType<ReturnType<typeof createUsageGroups>['total']>;
/** Sums with the name that they are grouped by. */
export type UsageRow = UsageSums & Partial<Record<AnyGrouping | 'name', string>>;
export type Usage = List<UsageRow> & {
  by: AnyGrouping;
  from: string;
  to: string;
  /** Null before the first fold. */
  age_seconds: number | null;
  total: UsageSums;
};

/** Figures of the newest requests: of so many, since then, and whether the day has no others. */
export type OfRecent = Pick<Measured, 'of_requests' | 'is_all' | 'since'>;

export type Unread = { failure: string };

export type NearKey = KeyUsage & { project: string };
export type Overview = {
  projects: Project[];
  plans: Plan[];
  usage:
    | (Pick<Usage, 'from' | 'to' | 'data' | 'age_seconds' | 'total'> & { before: UsageSums })
    | Unread;
  near: NearKey[] | Unread;
  failed: RequestSummary[] | Unread;
};

/** Responses of which the pages read what any of their kinds has. */
type Read = {
  'plans.list': List<Plan>;
  'keys.list': PagedList<Key>;
  'budgets.list': List<Budget>;
  'requests.show': RequestRecord;
  'targets.test': CallOutcome;
  checks: { checks: Check[] };
  usage: Usage;
  overview: Overview;
};

export type Replies = Omit<Reply, keyof Read> & Read;
