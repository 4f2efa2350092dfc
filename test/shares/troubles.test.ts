import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type DynamoProxy, startDynamoProxy, type Trouble } from '../metering/dynamo-proxy.ts';
import { startFleet } from '../metering/fleet.ts';
import { post } from '../support/local.ts';
import { modelOn, targetAt } from '../support/models.ts';
import { startBucketProvider } from './bucket-provider.ts';

const TPM = 60_000;
/** Of what the bucket of the shares holds. */
const HALF = 2_000;
const LEAD_MS = 5_000;

/** Two processes whose clocks are 5 s apart, on one table and a provider with the declared quota. */
const startLab = async () => {
  // Full, as the clock that leads admits two bursts of 5 s: a half was enough only for a fleet that took seconds to start.
  const full = { holdsMs: 10_000, filled: 1 };
  const provider = await startBucketProvider({ tpm: TPM, ...full, now: Date.now });
  const proxies: DynamoProxy[] = [];
  let [number, trouble]: [number, Trouble] = [0, 'none'];
  const catalog = Array.from({ length: 8 }, (_, index) =>
    modelOn(
      [
        targetAt(provider.url, {
          ...{ account: `account-${index}`, upstream: `upstream-${index}` },
          // Of the families, one that counts a text of one word at least as its provider does.
          ...{ counting: { family: 'qwen' }, quota: { tpm: TPM } },
        }),
      ],
      { id: `test/${index}` },
    ),
  );
  const fleet = await startFleet({
    now: Date.now(),
    skews: [LEAD_MS, 0],
    local: { catalog, secrets: { secret: 'credential' } },
    wayToTables: async (endpoint) => {
      const proxy = await startDynamoProxy(endpoint);
      proxy.decide(({ key }) => (key.startsWith('share/') ? trouble : 'none'));
      proxies.push(proxy);
      return proxy.url;
    },
  });
  let stands = false;
  const ticking = setInterval(() => {
    if (!stands) fleet.setNow(Date.now());
  }, 20);
  const admin = async (path: string, body: object): Promise<unknown> =>
    (await post(fleet.home, `/admin${path}`, body)).json();
  await admin('/projects', { id: 'team' });
  const keyOf = async (id: string, waitMs: number) => {
    const limits = { rpm: 1_000, quota: 1_000, period: 'month', max_wait_ms: waitMs };
    await admin('/plans', { id, ...limits });
    return ((await admin('/projects/team/keys', { plan: id })) as { key: string }).key;
  };
  const keys = { now: await keyOf('now', 0), waits: await keyOf('waits', 10_000) };
  return {
    provider,
    /** On a model whose quota no test has used. */
    next: () => {
      number += 1;
    },
    setTrouble: (next: Trouble) => {
      trouble = next;
    },
    /** While the clocks stand still nothing fills, however long requests take. */
    setStanding: (next: boolean) => {
      stands = next;
    },
    ask: async (server: number, plan: keyof typeof keys) => {
      const response = await fetch(`${fleet.servers[server]?.url}/v1/chat/completions`, {
        method: 'POST',
        headers: { 'x-api-key': keys[plan], 'content-type': 'application/json' },
        body: JSON.stringify({
          ...{ model: `test/${number}`, max_tokens: 500 },
          messages: [{ role: 'user', content: `${'word '.repeat(HALF)}tenant=team` }],
        }),
      });
      const { error } = (await response.json()) as { error?: { code?: string; message: string } };
      return { status: response.status, error, after: response.headers.get('retry-after') };
    },
    close: async () => {
      clearInterval(ticking);
      await fleet.close();
      await Promise.all([provider.close(), ...proxies.map((proxy) => proxy.close())]);
    },
  };
};

let lab: Awaited<ReturnType<typeof startLab>>;
beforeAll(async () => {
  lab = await startLab();
});
afterAll(() => lab.close());
beforeEach(() => {
  lab.setStanding(false);
  lab.next();
  lab.provider.log.length = 0;
});

const inOrder = (statuses: number[]) => statuses.toSorted((one, other) => one - other);

describe('a quota of processes whose clocks are 5 s apart', () => {
  test('what one has used the other does not have, and both are served when there is room', async () => {
    lab.setStanding(true);
    expect((await lab.ask(1, 'now')).status).toBe(200);
    // The clock that leads adds a burst at most once.
    const both = await Promise.all([0, 0, 1, 1].map((server) => lab.ask(server, 'now')));
    const statuses = inOrder(both.map(({ status }) => status));
    expect(statuses.filter((status) => status === 200).length).toBeLessThan(3);
    for (const { status, after } of both) {
      if (status === 200) continue;
      expect(status).toBe(503);
      expect(Number(after)).toBeGreaterThan(0);
      expect(Number(after)).toBeLessThan(10);
    }
    lab.setStanding(false);
    const waiting = await Promise.all([0, 1].map((server) => lab.ask(server, 'waits')));
    expect(waiting.map(({ status }) => status)).toEqual([200, 200]);
    expect(lab.provider.log.filter(({ isRejected }) => isRejected)).toEqual([]);
  });
});

describe('a quota whose table has troubles', () => {
  test.each(['reset', 'silence'] as const)(
    'requests are sent, and the provider decides, while the table answers with %s',
    async (trouble) => {
      lab.setTrouble(trouble);
      // Two and a half times what its bucket holds, which fills in the seconds in which a busy machine sends them.
      const all = await Promise.all([...'0101010101'].map((server) => lab.ask(+server, 'now')));
      expect(lab.provider.log.length).toBeGreaterThanOrEqual(6);
      const rejected = all.filter(({ status }) => status !== 200);
      // They are its own refusals, with its time.
      expect(rejected).not.toEqual([]);
      for (const { status, error, after } of rejected) {
        expect([status, error?.code]).not.toEqual([503, 'capacity']);
        expect(Number(after)).toBeGreaterThan(0);
      }
      lab.setTrouble('none');
      const codesLater = async () => {
        const later = await Promise.all([0, 0, 0].map((server) => lab.ask(server, 'now')));
        return later.map(({ error }) => error?.code);
      };
      await expect.poll(codesLater, { timeout: 20_000, interval: 500 }).toContain('capacity');
    },
  );
});
