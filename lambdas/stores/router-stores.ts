import type { AnswerStore } from './answer-store.ts';
import type { AuditStore } from './audit-store.ts';
import type { BudgetStore } from './budget-store.ts';
import type { HistoryStore } from './history-store.ts';
import type { KeyStore } from './key-store.ts';
import type { MeterStore, RequestMeters, ReservedUnits } from './meter-store.ts';
import type { Notes, ShareStore } from './notes.ts';
import type { PlanStore } from './plan-store.ts';
import type { RecordStore } from './record-store.ts';
import type { ResponseStore } from './response-store.ts';
import type { WebhookStore } from './webhook-store.ts';

/** What the router uses of the stores: its bundle has no other part of them. */
export type RouterStores = Notes & {
  keys: Pick<KeyStore, 'findKey' | 'listKeys'>;
  plans: Pick<PlanStore, 'findPlan'>;
  meters: RequestMeters & ReservedUnits;
  records: Omit<RecordStore, 'hasEntries' | 'readDay' | 'listRefused'>;
  history: Pick<
    HistoryStore,
    'readRows' | 'readSums' | 'readCorrections' | 'readSpent' | 'readProgress'
  >;
  /** For events of budgets. */
  budgets: Pick<BudgetStore, 'readBudget'>;
  /**
   * Opens the store of responses that are kept for repeats of their requests, where one is first needed.
   * @default none: requests with an idempotency key are rejected
   */
  openAnswers?: (() => AnswerStore) | undefined;
  /**
   * Opens the store of responses that callers read and continue, where they are first asked for.
   * @default none: they cannot be stored
   */
  openResponses?: (() => ResponseStore) | undefined;
  /**
   * Opens the store of webhooks, where a response in the background is first asked for.
   * @default none, and no responses are stored
   */
  openWebhooks?: (() => WebhookStore) | undefined;
  /**
   * Opens the store of the queues for providers' capacity, where a target first declares one.
   * @default none: no capacity is checked
   */
  openShares?: (() => ShareStore) | undefined;
};

/** All of them, as the admin function and local routers use them. */
export type Stores = RouterStores & {
  keys: KeyStore;
  plans: PlanStore;
  meters: MeterStore & ReservedUnits;
  budgets: BudgetStore;
  records: RecordStore;
  history: HistoryStore;
  audit: AuditStore;
};
