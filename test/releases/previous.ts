import type { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';
import type { KeyRecord } from '../../lambdas/stores/key-store.ts';
import type { ReservedUnit } from '../../lambdas/stores/meter-store.ts';
import type { Plan } from '../../lambdas/stores/plan-store.ts';
import type { Project } from '../../lambdas/stores/project-store.ts';
import type { Clock } from '../../lambdas/support/clock.ts';
import type { Log } from '../../lambdas/support/log.ts';
import { TABLE_NAMES } from '../support/dynamo.ts';

/** The release before this one; test/releases/freeze.ts bundles the next one. */
export const PREVIOUS = '0.1.0';
const FROZEN = new URL(`../fixtures/releases/${PREVIOUS}/`, import.meta.url);

/** What 0.1.0 asks for; its requests of a plan have no limit of those in flight. */
export type OldReservation = ReservedUnit & {
  keyId: string;
  rpm: number;
  quota: number;
  now: number;
};
type Counts = { minuteCount: number; periodCount: number };

export type OldMeters = {
  reserve(reservation: OldReservation): Promise<Counts & { outcome: string }>;
  commit(unit: ReservedUnit): Promise<boolean>;
  refund(unit: ReservedUnit): Promise<void>;
  close(unit: ReservedUnit): Promise<void>;
  reap(meterId: string, now: number): Promise<number>;
  standing(query: Omit<OldReservation, 'requestId' | 'rpm' | 'quota'>): Promise<Counts>;
  endKey(meterId: string, keyId: string, validUntil: number): Promise<void>;
};
type OldKey = Omit<KeyRecord, 'status'> & { status: 'active' | 'revoked' };
type OldPlan = Pick<Plan, 'id' | 'rpm' | 'quota' | 'period'> & { models?: string[] };

type OldStores = {
  keys: {
    findKey(hash: string): Promise<OldKey | undefined>;
    createKey(record: OldKey): Promise<boolean>;
    listKeys(projectId: string): Promise<OldKey[]>;
  };
  plans: {
    findPlan(id: string): Promise<OldPlan | undefined>;
    putPlan(plan: OldPlan): Promise<void>;
    listPlans(): Promise<OldPlan[]>;
  };
  meters: OldMeters;
  breakers: object;
};
type OldProjects = {
  createProject(project: Pick<Project, 'id' | 'name' | 'createdAt'>): Promise<boolean>;
  listProjects(): Promise<Project[]>;
};
type OldCaller = { keyId: string; projectId: string; meterId: string; plan: OldPlan };
type Created = { key: string; record: OldKey };
type OldLifecycle = {
  create(key: { projectId: string; planId: string; name?: string }): Promise<Created>;
  revoke(ref: { projectId: string; keyId: string }): Promise<boolean>;
  rotate(rotation: {
    projectId: string;
    keyId: string;
    overlapMs: number;
  }): Promise<Created | undefined>;
};
type OldOperate = (operation: {
  parameters: Record<string, string>;
  body: unknown;
}) => Promise<{ status: number; body: { data: Record<string, unknown>[] } }>;

/** The exports of the frozen release. */
type Frozen = {
  createDynamoStores(options: object): OldStores;
  createDynamoProjectStore(options: object): OldProjects;
  createAuthenticate(options: object): (headers: Record<string, string>) => Promise<OldCaller>;
  createKeyLifecycle(options: object): OldLifecycle;
  createListUsage(options: object): OldOperate;
  createListKeys(options: object): OldOperate;
};

/** What a process of 0.1.0 does with its tables. */
export const createPrevious = async (
  client: DynamoDBDocumentClient,
  { clock, log, randomBytes }: { clock: Clock; log: Log; randomBytes: (size: number) => Buffer },
) => {
  const frozen = (await import(new URL('stores.mjs', FROZEN).href)) as Frozen;
  const stores = frozen.createDynamoStores({ client, tableNames: TABLE_NAMES });
  const tableName = TABLE_NAMES.projects;
  const projects = frozen.createDynamoProjectStore({ client, tableName });
  const lifecycle = frozen.createKeyLifecycle({ ...stores, clock, randomBytes });
  const admin = { ...stores, projects, lifecycle, clock, log };
  return {
    ...stores,
    projects,
    lifecycle,
    authenticate: frozen.createAuthenticate({ ...stores, clock }),
    listUsage: frozen.createListUsage(admin),
    listKeys: frozen.createListKeys(admin),
  };
};

export type Previous = Awaited<ReturnType<typeof createPrevious>>;
