import type { UserPool } from '../aws/user-pool.ts';
import type { Calibration, Receipt } from '../catalog/calibrate.ts';
import type { Model, Target } from '../catalog/catalog.ts';
import type { presetOf } from '../catalog/preset-age.ts';
import type { CheckModels } from '../catalog/scope.ts';
import type { HistoryJob } from '../history/history-job.ts';
import type { KeyLifecycle } from '../keys/lifecycle.ts';
import type { StateMode } from '../stores/plan-store.ts';
import type { ProjectStore } from '../stores/project-store.ts';
import type { Stores } from '../stores/router-stores.ts';
import type { Clock } from '../support/clock.ts';
import type { RandomBytes } from '../support/ids.ts';
import type { Log } from '../support/log.ts';
import type { UpstreamSecrets } from '../upstreams/secrets.ts';
import type { Upstream } from '../upstreams/upstream.ts';
import type { QuotaState } from './quota-families.ts';

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
