import { createDynamoAnswerStore, createDynamoResponseStore } from '#late/answers';
import { createReadBudget } from '#late/leases';
import { createDynamoShareStore } from '#late/share-store';
import { createDynamoWebhookStore } from '#late/webhook-store';
import { atFirstCall } from '../../support/memo.ts';
import type { TableName } from '../../tables.ts';
import type { BodyStore } from '../answer-store.ts';
import type { RouterStores, Stores } from '../router-stores.ts';
import { createDynamoAuditStore } from './audit-store.ts';
import { createDynamoBudgetStore } from './budgets/budget-store.ts';
import type { DynamoClient } from './dynamo-client.ts';
import { createDynamoHistoryReader, createDynamoHistoryStore } from './history-store.ts';
import { createDynamoKeyReader, createDynamoKeyStore } from './key-store.ts';
import { createDynamoMeterStore, createDynamoRequestMeters } from './meter-store.ts';
import { createDynamoNotes } from './notes.ts';
import { createDynamoPlanReader, createDynamoPlanStore } from './plan-store.ts';
import { createDynamoRecordStore, createDynamoRecordWriter } from './record-store.ts';

/** The physical names of the router's tables; only the admin function uses projects. */
export type RouterTables = Record<Exclude<TableName, 'projects' | 'answers'>, string> & {
  answers?: string | undefined;
};

type Options = {
  client: DynamoClient;
  tableNames: RouterTables;
  /** Days that records are kept. */
  recordDays?: number;
  /** Hold the kept responses above the size of an item. */
  bodies?: BodyStore | undefined;
};

export const createRouterStores = (parts: Options): RouterStores => {
  const { client, tableNames, recordDays, bodies } = parts;
  const { keys, plans, meters, records, history, answers } = tableNames;
  return {
    keys: createDynamoKeyReader({ client, tableName: keys }),
    plans: createDynamoPlanReader({ client, tableName: plans }),
    meters: createDynamoRequestMeters({ client, tableName: meters }),
    ...createDynamoNotes({ client, tableName: meters }),
    records: createDynamoRecordWriter({ client, tableName: records, recordDays }),
    history: createDynamoHistoryReader({ client, tableName: history }),
    budgets: { readBudget: atFirstCall(() => createReadBudget({ client, tableName: meters })) },
    openWebhooks: () => createDynamoWebhookStore({ client, meters, records }),
    openShares: () => createDynamoShareStore({ client, tableName: meters }),
    openAnswers:
      answers === undefined
        ? undefined
        : () => createDynamoAnswerStore({ client, tableName: answers, bodies }),
  };
};

/** Opens the store of responses that callers read and continue; only the router's bundle has it, in a late part. */
export const openDynamoResponses = ({ client, tableNames: { answers }, bodies }: Options) =>
  answers === undefined
    ? undefined
    : () => createDynamoResponseStore({ client, tableName: answers, bodies });

/** All stores, as the admin function and local routers use them. */
export const createDynamoStores = (options: Options): Stores => {
  const { client, recordDays } = options;
  const { keys, plans, meters, records, history } = options.tableNames;
  return {
    ...createRouterStores(options),
    keys: createDynamoKeyStore({ client, tableName: keys }),
    plans: createDynamoPlanStore({ client, tableName: plans }),
    meters: createDynamoMeterStore({ client, tableName: meters }),
    budgets: createDynamoBudgetStore({ client, tableName: meters }),
    records: createDynamoRecordStore({ client, tableName: records, recordDays }),
    history: createDynamoHistoryStore({ client, tableName: history }),
    audit: createDynamoAuditStore({ client, tableName: history }),
  };
};
