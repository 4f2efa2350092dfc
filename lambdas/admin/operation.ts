import type * as z from 'zod';
import type { UserPool } from '../aws/user-pool.ts';
import type { Calibration, Receipt } from '../catalog/calibrate.ts';
import type { Model, Target } from '../catalog/catalog.ts';
import type { presetOf } from '../catalog/preset-age.ts';
import type { CheckModels } from '../catalog/scope.ts';
import type { JsonReply, TextReply } from '../endpoints/endpoint.ts';
import type { HistoryJob } from '../history/history-job.ts';
import type { KeyLifecycle } from '../keys/lifecycle.ts';
import {
  methodOf,
  type NamesOf,
  type Need,
  OPERATIONS,
  type OperationName,
} from '../operations.ts';
import type { Action, Made } from '../stores/audit-store.ts';
import type { StateMode } from '../stores/plan-store.ts';
import type { ProjectStore } from '../stores/project-store.ts';
import type { Stores } from '../stores/router-stores.ts';
import type { Clock } from '../support/clock.ts';
import type { RandomBytes } from '../support/ids.ts';
import type { Log } from '../support/log.ts';
import type { UpstreamSecrets } from '../upstreams/secrets.ts';
import type { Upstream } from '../upstreams/upstream.ts';
import { BODIES, NoFields, readInput } from './input.ts';
import { QUERIES } from './queries.ts';
import type { QuotaState } from './quota-families.ts';
import type { Identity } from './roles.ts';

/** Users of the console and their groups. @throws Error */
export type Members = Omit<UserPool, 'destroy'>;

export type Admission = {
  projectId: string;
  planId: string;
  keyId: string;
  /** The key without a successor whose place this one takes: the project's number of keys does not limit the first that does. */
  replaces?: string | undefined;
};

/** Reserves the place of a key before it is written. @throws ApiError 400, 404, 409 */
export type AdmitKey = (admission: Admission) => Promise<void>;

/** What the admin API needs of its composition root (create-admin.ts). */
export type AdminParts = Pick<
  Stores,
  'keys' | 'plans' | 'meters' | 'budgets' | 'records' | 'history' | 'audit' | 'openWebhooks'
> & {
  /** The router's catalog: plans may name only these models. */
  models: Model[];
  projects: ProjectStore;
  breakers: Pick<Stores['breakers'], 'readBreaker'>;
  lessons: Pick<Stores['lessons'], 'readLessons'>;
  /** @default the quotas of providers have no metrics */
  openShares?: Stores['openShares'];
  /** The stage's, for plans without one. @default off */
  stateMode?: StateMode | undefined;
  /** For the doctor's calls to targets. */
  secrets: Pick<UpstreamSecrets, 'get'>;
  upstream: Pick<Upstream, 'open'>;
  /** Whether webhooks may have addresses of this machine and its network, without TLS too. @default false */
  mayReachInner?: boolean | undefined;
  /** Users of the console. @default none: the loopback address needs no sign-in */
  members?: Members | undefined;
  log: Log;
  clock: Clock;
  randomBytes: RandomBytes;
  /** When the records of all earlier requests are written. @default an hour ago */
  settledUntil?: (() => number) | undefined;
  /** The same for exports, whose next one does not look before it. @default an hour ago */
  exportedUntil?: (() => number) | undefined;
  /** Whether a day has got records that are older than `settledUntil`. @default none has */
  isUnsettled?: ((projectId: string, day: string) => boolean) | undefined;
};

export type OperationParts = AdminParts & {
  reconcileProject: HistoryJob['reconcile'];
  lifecycle: KeyLifecycle;
  checkModels: CheckModels;
  presetOf: typeof presetOf;
  readQuotas(): Promise<QuotaState[]>;
  /** Fits a target's framing to receipts; undefined if they are too few. */
  calibrate(receipts: Receipt[], target: Target): Calibration | undefined;
  admitKey: AdmitKey;
  newKeyId(): string;
};

type OutputOf<Schemas, Name> = Name extends keyof Schemas
  ? z.output<Schemas[Name] & z.ZodType>
  : unknown;

/** A request past the shared middlewares and the check of its roles. */
export type AdminRequest<Input = unknown, Query = unknown> = {
  identity: Identity;
  /** What the path's `{placeholders}` stood for, percent-decoded. */
  parameters: Record<string, string>;
  /** Parameters of the query, as the operation's schema reads them. */
  query: Query;
  /** The body, as the operation's schema reads it. */
  input: Input;
};

/** A page, a file or metrics; everything else is JSON. */
export type PlainReply = JsonReply | TextReply;

type Changed = JsonReply & { changes: Made[] };

/** What each operation does. An `ApiError` below 500 of a change means that it changed nothing. @throws ApiError */
export type Operations = {
  [Name in OperationName]: (
    request: AdminRequest<OutputOf<typeof BODIES, Name>, OutputOf<typeof QUERIES, Name>>,
  ) => Promise<
    Name extends NamesOf<'change'> ? Changed : Name extends 'metrics' ? TextReply : JsonReply
  >;
};
export type Operation<Name extends OperationName> = Operations[Name];

export type AdminRoute = {
  method: 'GET' | 'POST';
  /** A path below the prefix of the API; each `{name}` takes one segment. */
  pattern: string;
  need: Need;
  /** The audit's name of what the operation changes; undefined if it changes nothing. */
  action: Action | undefined;
  /** Validates query and body before anything is done. @throws ApiError 400 */
  prepare(request: AdminRequest): {
    input: unknown;
    perform(): Promise<PlainReply & { changes?: Made[] }>;
  };
};

/** Budgets of keys, users and so on are budgets in the audit. */
const actionOf = (name: NamesOf<'change'>): Action =>
  name.replace(/^\w+-(?=budgets)/, '') as Action;

const schemaOf = (schemas: Partial<Record<OperationName, z.ZodType>>, name: OperationName) =>
  schemas[name];

/** The routes of the operations: the one place where a row, its schemas and its function meet. */
export const routesOf = (operations: Operations): AdminRoute[] =>
  (Object.keys(OPERATIONS) as OperationName[]).map((name) => {
    const [kind, need, pattern] = OPERATIONS[name];
    const operate = operations[name] as (request: AdminRequest) => Promise<PlainReply>;
    const [body, query] = [schemaOf(BODIES, name) ?? NoFields, schemaOf(QUERIES, name)];
    return {
      method: methodOf(name),
      pattern,
      need,
      action: kind === 'change' ? actionOf(name as NamesOf<'change'>) : undefined,
      prepare: (request) => {
        const input = kind === 'read' ? undefined : readInput(body, request.input);
        const asked = query ? readInput(query, request.query, 'The query') : request.query;
        return { input, perform: () => operate({ ...request, query: asked, input }) };
      },
    };
  });
