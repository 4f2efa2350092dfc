import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';
import type { Caller } from '../../lambdas/keys/authenticate.ts';
import { createMeter } from '../../lambdas/metering/meter.ts';
import { createDynamoMeterStore } from '../../lambdas/stores/dynamo/meter-store.ts';
import type { Clock } from '../../lambdas/support/clock.ts';
import { createLog, type Log } from '../../lambdas/support/log.ts';
import { createSdkClient } from '../../test/support/sdk-client.ts';
import { copySources } from '../checkout.ts';

/** Meters a response from its reservation to its last write; `respond` resolves at its end. */
export type MeterResponse = (
  caller: Caller,
  requestId: string,
  respond: () => Promise<void>,
) => Promise<void>;

/** A meter's design: makes the meter of one environment. */
export type Design = (client: DynamoDBDocumentClient, clock: Clock) => MeterResponse;

const tableName = 'meters';
const log = createLog(() => undefined);

/** The meter of this checkout. */
export const createMeterNow: Design = (client, clock) => {
  const store = createDynamoMeterStore({ client: createSdkClient(client, clock), tableName });
  const meter = createMeter({ store, clock, log });
  return async (caller, requestId, respond) => {
    const admission = await meter.admit(caller, requestId);
    await respond();
    await admission.charge();
    await admission.finished();
  };
};

/** The last commit with the meter of 0.1: one item, three writes a response, about 45 bytes a mark. */
const BEFORE = '2fab1aa';

type StoreModule = {
  createDynamoMeterStore(deps: { client: DynamoDBDocumentClient; tableName: string }): object;
};
type MeterModule = {
  createMeter(deps: { store: object; clock: Clock; log: Log }): {
    admit(
      caller: Caller,
      requestId: string,
    ): Promise<{ commit(): Promise<void>; close(): Promise<void> }>;
  };
};

/** The meter of 0.1, from the history of this checkout; `folder` gets its sources. */
export const designBefore = async (folder: string): Promise<Design> => {
  copySources(BEFORE, folder);
  const load = (path: string) => import(pathToFileURL(join(folder, 'lambdas', path)).href);
  const stores: StoreModule = await load('stores/dynamo/meter-store.ts');
  const meters: MeterModule = await load('metering/meter.ts');
  return (client, clock) => {
    const store = stores.createDynamoMeterStore({ client, tableName });
    const meter = meters.createMeter({ store, clock, log });
    return async (caller, requestId, respond) => {
      const admission = await meter.admit(caller, requestId);
      await admission.commit();
      await respond();
      await admission.close();
    };
  };
};
