import type { Timeouts } from './exchange.ts';
import { createJsonService } from './json-service.ts';
import type { AwsOptions } from './signed-client.ts';

const TIMEOUTS: Timeouts = { connectMs: 500, requestMs: 2_000 };

/** The sender of all events, which rules select by it; the role may send no other. */
const SOURCE = 'model-router';

/** Puts one event on the account's default bus of EventBridge. @throws AwsError, or the error of the connection */
export type PutEvent = (detailType: string, detail: object) => Promise<void>;

export const createEventBus = (options: AwsOptions): { put: PutEvent; destroy(): void } => {
  const service = createJsonService(
    { service: 'events', targetPrefix: 'AWSEvents', version: '1.1', timeouts: TIMEOUTS },
    options,
  );
  return {
    put: async (detailType, detail) => {
      const entry = { Source: SOURCE, DetailType: detailType, Detail: JSON.stringify(detail) };
      const { FailedEntryCount: failed } = await service.call('PutEvents', { Entries: [entry] });
      // The response is a 200 even if the bus rejected the entry.
      if (failed !== 0) throw new Error('EventBridge rejected the event.');
    },
    destroy: service.destroy,
  };
};
