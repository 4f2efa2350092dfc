import type { TableName } from '../../tables.ts';
import type { AnswerStore, BodyStore } from '../answer-store.ts';
import type { AuditStore } from '../audit-store.ts';
import type { BreakerStore } from '../breaker-store.ts';
import type { CancelStore } from '../cancel-store.ts';
import type { HistoryStore } from '../history-store.ts';
import type { KeyStore } from '../key-store.ts';
import type { LessonStore } from '../lesson-store.ts';
import type { MeterStore } from '../meter-store.ts';
import type { PlanStore } from '../plan-store.ts';
import type { RecordStore } from '../record-store.ts';
import type { ThresholdStore } from '../threshold-store.ts';
import { createDynamoAnswerStore } from './answer-store.ts';
import { createDynamoAuditStore } from './audit-store.ts';
import { createDynamoBreakerStore } from './breaker-store.ts';
import { createDynamoCancelStore } from './cancel-store.ts';
import type { DynamoClient } from './dynamo-client.ts';
import { createDynamoHistoryStore } from './history-store.ts';
import { createDynamoKeyStore } from './key-store.ts';
import { createDynamoLessonStore } from './lesson-store.ts';
import { createDynamoMeterStore } from './meter-store.ts';
import { createDynamoPlanStore } from './plan-store.ts';
import { createDynamoRecordStore } from './record-store.ts';
import { createDynamoThresholdStore } from './threshold-store.ts';

export type Stores = {
  keys: KeyStore;
  plans: PlanStore;
  meters: MeterStore;
  breakers: BreakerStore;
  cancels: CancelStore;
  lessons: LessonStore;
  records: RecordStore;
  history: HistoryStore;
  thresholds: ThresholdStore;
  audit: AuditStore;
  /** Undefined without a table for it: no response is kept. */
  answers: AnswerStore | undefined;
};

/** The physical names of the router's tables; only the admin function uses projects. */
export type RouterTables = Record<Exclude<TableName, 'projects' | 'answers'>, string> & {
  answers?: string | undefined;
};

/** The router's stores. `bodies` hold the kept responses above the size of an item. */
export const createDynamoStores = ({
  client,
  tableNames,
  recordDays,
  bodies,
}: {
  client: DynamoClient;
  tableNames: RouterTables;
  /** Days that records are kept. */
  recordDays?: number;
  bodies?: BodyStore | undefined;
}): Stores => {
  const { keys, plans, meters, records, history, answers } = tableNames;
  return {
    keys: createDynamoKeyStore({ client, tableName: keys }),
    plans: createDynamoPlanStore({ client, tableName: plans }),
    meters: createDynamoMeterStore({ client, tableName: meters }),
    breakers: createDynamoBreakerStore({ client, tableName: meters }),
    cancels: createDynamoCancelStore({ client, tableName: meters }),
    lessons: createDynamoLessonStore({ client, tableName: meters }),
    records: createDynamoRecordStore({ client, tableName: records, recordDays }),
    history: createDynamoHistoryStore({ client, tableName: history }),
    thresholds: createDynamoThresholdStore({ client, tableName: meters }),
    audit: createDynamoAuditStore({ client, tableName: history }),
    answers:
      answers === undefined
        ? undefined
        : createDynamoAnswerStore({ client, tableName: answers, bodies }),
  };
};
