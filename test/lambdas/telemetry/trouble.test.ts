import { describe, expect, onTestFinished, test } from 'vitest';
import defaultModels from '../../../lambdas/catalog/models.json' with { type: 'json' };
import { parseModels } from '../../../lambdas/catalog/parse-models.ts';
import { systemClock } from '../../../lambdas/support/clock.ts';
import { localCredentials } from '../../../local/local-catalog.ts';
import type { TableCall } from '../../metering/dynamo-proxy.ts';
import { startTroubledRouter } from '../../metering/troubled-router.ts';
import { MODEL_ON, post, withRouter } from '../../support/local.ts';
import { createRecordedTelemetry } from '../../support/recorded-telemetry.ts';

const CHAT = '/v1/chat/completions';

const bodyFor = (model: string) => ({ model, messages: [{ role: 'user', content: 'hello' }] });

/** A router behind a table that can be cut, and what it counts. */
const startCounted = async () => {
  const { log, series } = createRecordedTelemetry();
  const { url, proxy, createKey, close } = await startTroubledRouter({ log });
  onTestFinished(close);
  const key = await createKey();
  const ask = (model = 'test/answers') =>
    fetch(`${url}${CHAT}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify(bodyFor(model)),
    });
  const cut = (isCut: (call: TableCall) => boolean) =>
    proxy.decide((call) => (isCut(call) ? 'reset' : 'none'));
  return { ask, cut, series };
};

const isMeterWrite = ({ operation, key }: TableCall) =>
  operation === 'UpdateItem' && key.startsWith('mtr');

describe('a table that does not answer', () => {
  test.each(['GetItem', 'UpdateItem'])(
    'a table that does not answer %s makes a 503 and counts MeterUnreachable',
    async (operation) => {
      const { ask, cut, series } = await startCounted();
      cut((call) => call.operation === operation);
      expect((await ask()).status).toBe(503);
      expect(series()).toMatchObject({
        'MeterUnreachable{Stage=test}': 1,
        'Status5xx{Stage=test}': 1,
      });
    },
  );

  test('a failed refund is counted after its last attempt', async () => {
    const { ask, cut, series } = await startCounted();
    let writes = 0;
    cut((call) => {
      if (isMeterWrite(call)) writes += 1;
      return writes > 1;
    });
    expect((await ask('test/refuses')).status).toBe(503);
    await expect.poll(series).toMatchObject({ 'RefundPending{Stage=test}': 1 });
  });
});

test('a secret that cannot be read is counted also while an older one serves on', async () => {
  let ahead = 0;
  const clock = { ...systemClock, now: () => systemClock.now() + ahead };
  const { log, series } = createRecordedTelemetry();
  const whole = JSON.stringify(localCredentials(parseModels(defaultModels)));
  const readSecret = async () => ({
    text: ahead === 0 ? whole : '{"aurora":',
    version: `${ahead}`,
  });
  await withRouter({ log, clock, readSecret }, async (router) => {
    const ask = async () => (await post(router, CHAT, bodyFor(MODEL_ON.chat))).status;
    expect(await ask()).toBe(200);
    ahead = 16 * 60_000;
    expect(await ask()).toBe(200);
  });
  expect(series()).toMatchObject({ 'SecretFetchFailed{Stage=test}': 1 });
});

test('every breaker that opens is counted', async () => {
  const { log, series } = createRecordedTelemetry();
  await withRouter({ log }, async (router) => {
    const admin = (path: string, body: object) => post(router, `/admin/projects${path}`, body);
    await admin('', { id: 'other' });
    const created = (await (await admin('/other/keys', { plan: 'local' })).json()) as {
      key: string;
    };
    router.upstreams.inject({ fault: { kind: 'status', status: 401 } });
    // The credentials count as rejected once two projects have met it.
    for (const options of [{}, { key: created.key }]) {
      const { status } = await post(router, CHAT, bodyFor(MODEL_ON.chat), options);
      expect(status).toBe(500);
    }
  });
  expect(series()).toMatchObject({ 'BreakersOpened{Stage=test}': 2 });
});
