/** The Web Function with stores that answer from memory: what a request costs apart from the tables. */
import '../../lambdas/web/lambda-runtime.ts';
import { randomBytes } from 'node:crypto';
import { bundledModels } from '../../lambdas/catalog/bundled-models.ts';
import { createCatalog } from '../../lambdas/catalog/catalog.ts';
import { createRouter, type RouterParts } from '../../lambdas/create-router.ts';
import { readHttpEndpoint } from '../../lambdas/env.ts';
import { hashKey } from '../../lambdas/keys/api-key.ts';
import { labelsOf } from '../../lambdas/metrics.ts';
import type { ReserveResult } from '../../lambdas/stores/meter-store.ts';
import { systemClock } from '../../lambdas/support/clock.ts';
import { pooled } from '../../lambdas/support/ids.ts';
import { createTelemetry } from '../../lambdas/telemetry/create-telemetry.ts';
import { createHttpUpstream } from '../../lambdas/upstreams/http-upstream.ts';
import { allocateYoung } from '../../lambdas/web/heap.ts';
import { startServer } from '../../lambdas/web/server.ts';

type Stores = Pick<
  RouterParts,
  | 'keys'
  | 'plans'
  | 'meters'
  | 'breakers'
  | 'cancels'
  | 'lessons'
  | 'receipts'
  | 'records'
  | 'history'
  | 'thresholds'
  | 'budgets'
>;

/** The verbs of the stores that the bench calls. */
type CalledStores = { [Name in keyof Stores]: Partial<Stores[Name]> };
const nothing = async () => undefined;

const hash = hashKey(process.env.BENCH_KEY ?? '');
const ADMITTED: ReserveResult = {
  outcome: 'admitted',
  ...{ minuteCount: 1, periodCount: 1, reservedCount: 1, inFlightCount: 1, hasStaleMarks: false },
};

const stores: CalledStores = {
  keys: {
    findKey: async () => ({
      ...{ hash, keyId: 'key', projectId: 'bench', meterId: 'mtr', planId: 'bench' },
      ...{ start: 'mrk', status: 'active', createdAt: 0 },
    }),
  },
  plans: { findPlan: async (id) => ({ id, rpm: 1e9, quota: 1e9, period: 'month' }) },
  meters: {
    reserve: async () => ADMITTED,
    reserveUnconfirmed: async () => ADMITTED,
    charge: nothing,
    refund: nothing,
  },
  breakers: { readBreaker: nothing },
  cancels: {},
  lessons: { readLessons: async () => ({}) },
  receipts: { readReceipts: async () => [], writeReceipts: nothing },
  records: { putRecord: nothing },
  history: {},
  thresholds: {},
  budgets: {},
};

const log = createTelemetry({
  stage: 'bench',
  labels: labelsOf(bundledModels, 60),
  clock: systemClock,
  write: (line) => process.stdout.write(line),
});
const credential = { value: 'secret', version: '1' };
const handler = createRouter({
  catalog: createCatalog(bundledModels),
  ...(stores as Stores),
  upstream: createHttpUpstream({
    secrets: {
      prefetch: () => {},
      get: async () => credential,
      refused: nothing,
      accepted: () => {},
      version: () => credential.version,
    },
    roleCredentials: () => Promise.reject(new Error('No target is signed.')),
    clock: systemClock,
  }),
  log,
  clock: systemClock,
  randomBytes: pooled(randomBytes),
});
/** As the Web Function does. */
allocateYoung();
startServer({
  handler,
  ...readHttpEndpoint(process.env),
  clock: systemClock,
  randomBytes,
}).catch((error: unknown) => {
  process.stderr.write(`${error}\n`);
  process.exit(1);
});
