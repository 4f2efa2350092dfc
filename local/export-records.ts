import defaultModels from '../lambdas/catalog/models.json' with { type: 'json' };
import type { Model } from '../lambdas/catalog/parse-models.ts';
import { addressesIn } from '../lambdas/otlp/address-of.ts';
import { createExporter } from '../lambdas/otlp/exporter.ts';
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
  const outbox = await openOutbox({ database, send, clock, onFailure });
  return {
    ...stores,
    parts: { ...stores.parts, records: outbox.watch(stores.parts.records) },
    close: async () => {
      await outbox.close();
      await stores.close();
    },
  };
};
