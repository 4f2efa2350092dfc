import defaultModels from '../lambdas/catalog/models.json' with { type: 'json' };
import type { Model } from '../lambdas/catalog/parse-models.ts';
import { addressesIn } from '../lambdas/otlp/address-of.ts';
import { createExporter, type Entry } from '../lambdas/otlp/exporter.ts';
import { createPost } from '../lambdas/otlp/post.ts';
import type { Clock } from '../lambdas/support/clock.ts';
import type { Log } from '../lambdas/support/log.ts';
import type { ItemDatabase } from './database/item-database.ts';
import type { LocalStores } from './local-stores.ts';
import { openOutbox } from './outbox.ts';

export type Collector = {
  endpoint: string;
  headers: Record<string, string>;
  /** @default the shipped catalog */
  models: Model[] | undefined;
  version: string;
};

type Parts = {
  database: ItemDatabase;
  collector: Collector;
  clock: Clock;
  log: Log;
  onFailure(message: string): void;
};

/** The stores, whose records an OTLP collector gets too, until they are closed. */
export const exportRecords = async (
  stores: LocalStores,
  { database, collector, clock, log, onFailure }: Parts,
): Promise<LocalStores> => {
  const { endpoint, headers, models = defaultModels, version } = collector;
  const post = createPost({
    endpoint,
    readSecretHeaders: async () => headers,
    now: () => clock.now(),
  });
  const send = createExporter({
    post,
    addressOf: addressesIn(models),
    stage: 'local',
    version,
    log,
  });
  const outbox = await openOutbox<Entry>({
    ...{ database, table: 'outbox', receiver: 'the OTLP collector', send, clock, onFailure },
  });
  const { records } = stores.parts;
  // Before the record is in its store, so that none of those is missing at the collector.
  const watched: typeof records = {
    ...records,
    putRecord: async (record, revision) => {
      await outbox.add({ record, isFirst: revision === 1 });
      await records.putRecord(record, revision);
    },
    putRefused: async (refused) => {
      await outbox.add({ refused });
      await records.putRefused(refused);
    },
  };
  return {
    ...stores,
    parts: { ...stores.parts, records: watched },
    close: async () => {
      await outbox.close();
      await stores.close();
    },
  };
};
