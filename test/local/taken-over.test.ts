import { expect, test } from 'vitest';
import { openStores } from '../../local/local-stores.ts';
import { startLocal } from '../../local/start.ts';
import { readOpenMetrics, totalOf } from '../metrics/read-open-metrics.ts';
import { MODEL_ON, post } from '../support/local.ts';
import { createManualClock } from '../support/manual-clock.ts';

const START = Date.parse('2026-11-21T12:00:00Z');
const ASKED = {
  model: MODEL_ON.chat,
  user: 'ada',
  messages: [{ role: 'user', content: 'say hello' }],
};
const PATH = '/v1/chat/completions';
type Charged = { charged: number };
type Usage = { history: { data: Charged[]; total: Charged } };
const KEYED = { 'idempotency-key': 'one' };

test('the history of the day has a request whose process died and that its repeat has taken over', async () => {
  const clock = createManualClock(START);
  const stores = openStores(clock);
  const open = { parts: stores.parts, close: async () => {} };
  // Its clock stands still: it neither responds nor renews its lease, as if it were killed.
  const dead = await startLocal({ clock: createManualClock(START), stores: open });
  dead.upstreams.inject({ fault: { kind: 'stall' } });
  const router = await startLocal({ clock, stores: open });
  const { baseUrl } = router;
  const headers = { authorization: `Bearer ${dead.key}` };
  /** Charged units by the history: by key, by user, and in the metrics. */
  const charged = async () => {
    const read = (path: string) => fetch(`${baseUrl}${path}`, { headers });
    const readUsage = async (by = '') => {
      const usage = await (await read(`/v1/usage?since=2026-11-21${by}`)).json();
      return (usage as Usage).history;
    };
    const families = readOpenMetrics(await (await read('/admin/metrics')).text());
    return [
      (await readUsage()).total.charged,
      (await readUsage('&by=user')).data[0]?.charged,
      totalOf(families, 'model_router_requests_total', { outcome: 'charged' }),
    ];
  };
  const ask = (more = {}) => post({ baseUrl, key: dead.key }, PATH, ASKED, { headers: more });
  try {
    const lost = post(dead, PATH, ASKED, { headers: KEYED });
    lost.catch(() => undefined);
    await expect.poll(() => dead.upstreams.calls.length).toBe(1);

    clock.advance(40_000);
    expect((await ask()).status).toBe(200);
    expect(await charged()).toEqual([1, 1, 1]);
    clock.advance(1_000);
    const repeat = await ask(KEYED);
    expect(repeat.status).toBe(200);
    await repeat.text();
    clock.advance(1_000);
    expect(await charged()).toEqual([2, 2, 2]);
    clock.advance(1_000);
    expect((await ask()).status).toBe(200);
    expect(await charged()).toEqual([3, 3, 3]);
  } finally {
    await router.close();
    await dead.close();
    await stores.close();
  }
});
