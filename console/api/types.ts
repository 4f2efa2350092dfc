import type { publicEntry } from '../../lambdas/admin/audit.ts';
import type { PublicIncident } from '../../lambdas/admin/incidents.ts';
import type { TargetMeasure } from '../../lambdas/admin/measured.ts';
import type { publicMember } from '../../lambdas/admin/members.ts';
import type { publicProject } from '../../lambdas/admin/projects.ts';
import type { publicKey } from '../../lambdas/admin/public-key.ts';
import type { KeyUsage } from '../../lambdas/admin/quota-usage.ts';
import type { CallOutcome } from '../../lambdas/admin/target-test.ts';
import type { ListedTarget } from '../../lambdas/admin/targets.ts';
import type { createUsageGroups, Grouping } from '../../lambdas/history/read-usage.ts';
import type { recordForOperator, summaryOf } from '../../lambdas/records/public-record.ts';
import type { refusedSummaryOf } from '../../lambdas/records/public-refused.ts';
import type { Plan as StoredPlan } from '../../lambdas/stores/plan-store.ts';

/** What the admin API responds with; every list has the member `data`. */
export type List<T> = { data: T[] };
/** A list in pages: `next_cursor` is the parameter `cursor` of the next one. */
export type PagedList<T> = List<T> & { next_cursor: string | null; total?: number };

export type Key = ReturnType<typeof publicKey>;
/** A new key, or a successor; the only responses that contain the key itself. */
export type NewKey = Key & { key: string };
export type Project = ReturnType<typeof publicProject>;
/** Of an unreadable one, which a later version wrote, only the id is known. */
export type Plan = StoredPlan & { unreadable?: true };
export type { CallOutcome, KeyUsage };

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
export type OfRecent = { of_requests: number; is_all: boolean; since: string };

/** A section of the overview that could not be read. */
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

type NamedKey = { key_name: string | null };
export type RequestSummary = ReturnType<typeof summaryOf | typeof refusedSummaryOf> & NamedKey;
export type RequestRecord = ReturnType<typeof recordForOperator> & NamedKey;

export type Member = ReturnType<typeof publicMember>;

export type AuditEntry = ReturnType<typeof publicEntry>;

export type Target = ListedTarget;
export type { TargetMeasure };
export type Measured = OfRecent & {
  models: Omit<TargetMeasure, 'target'>[];
  targets: TargetMeasure[];
};
export type Incident = PublicIncident;
export type Check = { check: string; result: string; place?: string; reason?: string };

/** The response of a rotation. */
export type Rotated = NewKey & { replaces: string; overlap: string; old_key_ended: boolean };

/** What the operations respond that the pages call. */
export type Budget = {
  scope: 'organisation' | 'project' | 'key' | 'users' | 'user' | 'sessions' | 'session';
  id: string;
  project?: string;
  max_usd: number;
  period: 'hour' | 'day' | 'month' | 'total';
  paused?: boolean;
  set_by: string;
  set_at: string;
  /** Of one that counts for each user or session: absent, and so are the others. */
  spent_usd?: number;
  leased_usd?: number;
  forecast_usd?: number;
};
type BudgetChange =
  `${'' | 'organisation-' | 'key-' | 'users-' | 'user-' | 'sessions-' | 'session-'}budgets.${'set' | 'delete'}`;

export type Webhook = { url: string; set_at: string };

export type Replies = Record<BudgetChange, Budget> & {
  'budgets.list': List<Budget>;
  'projects.list': List<Project>;
  'projects.create': Project;
  'projects.set': Project;
  'projects.delete': Project;
  'webhooks.show': Webhook;
  'webhooks.set': Webhook & { secret: string };
  'webhooks.delete': Webhook;
  'plans.list': List<Plan>;
  'plans.create': Plan;
  'plans.set': Plan;
  'plans.delete': { id: string };
  'keys.list': PagedList<Key>;
  'keys.create': NewKey;
  'keys.show': Key;
  'keys.set': Key;
  'keys.move': Key;
  'keys.pause': Key;
  'keys.resume': Key;
  'keys.rotate': Rotated;
  'keys.revoke': { id: string };
  'keys.find': List<Key>;
  'members.list': PagedList<Member>;
  'members.invite': { invitation: string };
  'members.set': object;
  'members.remove': object;
  'quotas.list': List<KeyUsage>;
  usage: Usage;
  'requests.list': PagedList<RequestSummary>;
  'requests.show': RequestRecord;
  'audit.list': PagedList<AuditEntry>;
  overview: Overview;
  'incidents.list': OfRecent & List<Incident>;
  'models.list': List<{ id: string }>;
  'targets.measured': Measured;
  checks: { checks: Check[] };
  'targets.list': List<Target>;
  'targets.test': CallOutcome;
};
