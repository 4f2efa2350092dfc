import { PassThrough } from 'node:stream';
import { text } from 'node:stream/consumers';
import { expect } from 'vitest';
import type { HttpEvent } from '../../lambdas/http/read-event.ts';
import type { TableCall } from '../metering/dynamo-proxy.ts';
import { startTroubledRouter } from '../metering/troubled-router.ts';
import { functionUrl } from '../runtime/events.ts';
import type { DataPoint } from './alarm-states.ts';
import { createCountingClock } from './counting-clock.ts';
import { startFleet } from './fleet.ts';
import { startUpstream } from './fleet-upstream.ts';
import { startInstantUpstream } from './instant-upstream.ts';
import { CANARIES } from './leak-watch.ts';
import { MODEL_ON, post, withRouter } from './local.ts';
import { createManualClock } from './manual-clock.ts';
import { pointsIn } from './metrics.ts';
import { modelOn, targetAt } from './models.ts';
import { createRecordedTelemetry } from './recorded-telemetry.ts';

const MINUTE = 60_000;
/** Start of the five minutes that the alarms look at; `END` is their end. */
const START = Date.UTC(2026, 10, 21, 12);
export const END = START + 5 * MINUTE;

const CHAT = '/v1/chat/completions';
const bodyFor = (model: string) => ({ model, messages: [{ role: 'user', content: 'hello' }] });

/** The log of production for the stage `prod`, whose metrics all fall into the five minutes. */
const createRecorder = () => {
  const clock = createManualClock(START + MINUTE);
  const { log, lines } = createRecordedTelemetry({ stage: 'prod', clock });
  return { log, points: () => pointsIn(lines) };
};

/** The same requests `factor` times: sums of counts, which all alarms of the router's metrics read. */
export const times = (factor: number, points: DataPoint[]): DataPoint[] =>
  points.map((point) => ({ ...point, value: point.value * factor }));

/** Data points of AWS's own metrics, which no local run writes: made by hand, one a minute from the first. */
export const byHand = (series: string, ...values: number[]): DataPoint[] =>
  values.map((value, minute) => ({ series, at: START + minute * MINUTE, value }));

type Refusal = { status: number; protocol?: 'chat' | 'messages' };

/** Metrics of `count` requests to a model with two targets, of which those of `protocol` fail; default: none. */
export const replayUpstream = async (count: number, refusal?: Refusal): Promise<DataPoint[]> => {
  const { log, points } = createRecorder();
  await withRouter({ log }, async (router) => {
    if (refusal) {
      const { status, protocol } = refusal;
      router.upstreams.inject({ fault: { kind: 'status', status }, ...(protocol && { protocol }) });
    }
    for (let sent = 0; sent < count; sent += 1) {
      await (await post(router, CHAT, bodyFor(MODEL_ON.chat))).text();
    }
  });
  return points();
};

/** Metrics of one request to a target whose base URL has a path that its provider does not have. */
export const replayUnknownPath = async (): Promise<DataPoint[]> => {
  const { log, points } = createRecorder();
  const upstream = await startInstantUpstream(CANARIES.upstreamKey);
  const fleet = await startFleet({
    models: [modelOn([targetAt(`${upstream.baseUrl('chat')}/v2`)])],
    clock: createManualClock(START),
    log,
    secret: CANARIES.upstreamKey,
  });
  try {
    const [baseUrl = ''] = fleet.urls;
    await post({ baseUrl, key: fleet.key }, CHAT, bodyFor('vendor/model'));
  } finally {
    await fleet.close();
    await upstream.close();
  }
  return points();
};

/** Metrics of one request with a key that does not exist. */
export const replayUnknownKey = async (): Promise<DataPoint[]> => {
  const { log, points } = createRecorder();
  await withRouter({ log }, (router) =>
    post(router, CHAT, bodyFor(MODEL_ON.chat), { key: 'wrong' }),
  );
  return points();
};

/** Metrics of one request to a model whose credential is missing from the secret. */
export const replayMissingCredential = async (): Promise<DataPoint[]> => {
  const { log, points } = createRecorder();
  await withRouter({ log, secrets: { other: 'value' } }, (router) =>
    post(router, CHAT, bodyFor(MODEL_ON.chat)),
  );
  return points();
};

const isMeterWrite = ({ operation, key }: TableCall): boolean =>
  operation === 'UpdateItem' && key.startsWith('mtr');

type TableTrouble = {
  /** What the table does with the writes of the first key's meter, or of all. */
  trouble: 'reset' | 'throttled';
  of: 'one key' | 'all keys';
  /** Requests of the first key, sent at once. */
  requests: number;
};

/** Metrics of the first key's requests, and of 30 of another key, while writes of meters fail. */
export const replayTable = async ({
  trouble,
  of,
  requests,
}: TableTrouble): Promise<DataPoint[]> => {
  const { log, points } = createRecorder();
  const { url, proxy, createKey, close } = await startTroubledRouter({ log, patience: 30_000 });
  const ask = async (key: string) =>
    (await post({ baseUrl: url, key }, CHAT, bodyFor('test/answers'))).status;
  try {
    const [hot, other] = [await createKey(), await createKey()];
    if (of === 'one key') expect(await ask(hot)).toBe(200);
    const meter = proxy.calls.findLast(isMeterWrite)?.key;
    proxy.decide((call) =>
      isMeterWrite(call) && (of === 'all keys' || call.key === meter) ? trouble : 'none',
    );
    const denied = Array.from({ length: requests }, () => ask(hot));
    expect(new Set(await Promise.all(denied))).toEqual(new Set([503]));
    // In turn: a machine that is busy with all of them at once loses records, which is another alarm.
    for (let sent = 0; of === 'one key' && sent < 30; sent += 1) expect(await ask(other)).toBe(200);
  } finally {
    await close();
  }
  return points();
};

/** Metrics of one failed request whose unit cannot be refunded. */
export const replayPendingRefund = async (): Promise<DataPoint[]> => {
  const { log, points } = createRecorder();
  const { url, proxy, createKey, close } = await startTroubledRouter({ log });
  try {
    const key = await createKey();
    let writes = 0;
    proxy.decide((call) => {
      if (!isMeterWrite(call)) return 'none';
      writes += 1;
      return writes > 1 ? 'reset' : 'none';
    });
    await post({ baseUrl: url, key }, CHAT, bodyFor('test/refuses'));
    await expect
      .poll(() => points().filter(({ series }) => series.includes('RefundPending')))
      .toHaveLength(1);
  } finally {
    await close();
  }
  return points();
};

/** Metrics of one request that succeeds and whose record cannot be written. */
export const replayLostRecord = async (): Promise<DataPoint[]> => {
  const { log, points } = createRecorder();
  const { url, proxy, createKey, close } = await startTroubledRouter({ log });
  try {
    const key = await createKey();
    proxy.decide(({ table }) => (table === 'local-records' ? 'reset' : 'none'));
    const { status } = await post({ baseUrl: url, key }, CHAT, bodyFor('test/answers'));
    expect(status).toBe(200);
    await expect
      .poll(() => points().filter(({ series }) => series.includes('RecordsLost')))
      .toHaveLength(1);
  } finally {
    await close();
  }
  return points();
};

/** Metrics of a run of the history that finds `difference` of `units` without a record. */
export const replayDifference = async (units: number, difference: number): Promise<DataPoint[]> => {
  const { log, points } = createRecorder();
  log.error('history_differs', { projectId: 'project', units, difference });
  return points();
};

/** Metrics of one request whose upstream sends no content until the deadline. */
export const replayDeadline = async (): Promise<DataPoint[]> => {
  const { log, points } = createRecorder();
  const clock = createCountingClock(START);
  const upstream = await startUpstream(() => undefined);
  const target = targetAt(upstream.url, { firstEventTimeoutMs: 10_000_000 });
  const fleet = await startFleet({
    models: [modelOn([target])],
    clock,
    log,
    secret: CANARIES.upstreamKey,
  });
  try {
    const out = new PassThrough();
    const event = functionUrl(CHAT, { key: fleet.key, body: bodyFor('vendor/model') });
    const context = { getRemainingTimeInMillis: () => 15_000 };
    const served = fleet.handlers[0]?.(event as unknown as HttpEvent, out, context);
    const said = text(out);
    await expect.poll(() => upstream.attempts).toBe(1);
    clock.advance(5_000);
    await served;
    await said;
  } finally {
    await fleet.close();
  }
  return points();
};
