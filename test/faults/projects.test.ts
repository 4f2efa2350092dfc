import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { withBystander } from '../support/bystander.ts';
import { createCountingClock } from '../support/counting-clock.ts';
import { type Environments, startEnvironments, type Tenant } from '../support/environments.ts';
import { modelOn, targetAt } from '../support/models.ts';
import { PROVOKED, startPromptedUpstream } from '../support/prompted-upstream.ts';
import { fc } from '../support/seeds.ts';
import { send } from '../support/send.ts';

const SIZES = [1, 4];
const RUNS = 2;
const SECONDS = 15;
const FIRST_CONTENT_MS = 2_500;

const clock = createCountingClock(Date.UTC(2026, 10, 21, 12));
let upstream: Awaited<ReturnType<typeof startPromptedUpstream>>;
let fleet: Environments;
let models = 0;

/** Each test has a model of its own, whose breakers are closed. */
const nextModel = () => {
  models += 1;
  return `vendor/model-${models}`;
};

beforeAll(async () => {
  upstream = await startPromptedUpstream();
  const catalog = Array.from({ length: 40 }, (_, at) =>
    modelOn(
      [targetAt(upstream.url, { model: `large-${at}`, firstEventTimeoutMs: FIRST_CONTENT_MS })],
      { id: `vendor/model-${at}` },
    ),
  );
  fleet = await startEnvironments({ models: catalog, clock });
});
afterAll(async () => {
  await fleet.close();
  await upstream.close();
});

type Asked = { model: string; prompt: string; stream?: boolean; environment?: number };

const ask = ({ key }: Tenant, { model, prompt, stream = true, environment = 0 }: Asked) =>
  send(fleet.environments[environment]?.url ?? '', '/v1/chat/completions', {
    method: 'POST',
    headers: { 'x-api-key': key },
    body: JSON.stringify({ model, stream, messages: [{ role: 'user', content: prompt }] }),
  });

/** Asks, and lets the time of a slow provider pass. */
const askToTheEnd = async (tenant: Tenant, asked: Asked) => {
  const seen = upstream.state.prompts.length;
  const sent = ask(tenant, asked);
  if (asked.prompt === 'slow') {
    await expect.poll(() => upstream.state.prompts.length).toBe(seen + 1);
    clock.advance(FIRST_CONTENT_MS);
  }
  return sent;
};

/** Lets the time of slow requests pass until each has ended. */
const settle = async (sent: Promise<unknown>[]) => {
  const over = Promise.allSettled(sent).then(() => true);
  const step = () => {
    clock.advance(1_000);
    return Promise.race([over, pause(20)]);
  };
  await expect.poll(step).toBe(true);
};

describe('a project with a quota of one unit', () => {
  test.each([
    { times: 3, prompt: '403' },
    { times: 3, prompt: '404' },
    { times: 5, prompt: '500' },
    { times: 5, prompt: 'empty' },
    { times: 5, prompt: 'slow' },
  ])('whose $times prompts end as $prompt takes a model from no other', async (row) => {
    const attacker = await fleet.createTenant({ quota: 1 });
    const innocent = await fleet.createTenant();
    const model = nextModel();
    for (let turn = 0; turn < row.times; turn += 1) {
      const { status } = await askToTheEnd(attacker, { model, prompt: row.prompt });
      expect(status).not.toBe(402);
    }
    expect((await ask(innocent, { model, prompt: 'hi' })).status).toBe(200);
    expect(await attacker.charged()).toBe(0);
    expect(await innocent.charged()).toBe(1);
  });
});

describe.each(SIZES)('on %i environments', (size) => {
  const aRequest = fc.record({
    prompt: fc.constantFrom(...PROVOKED, 'hi'),
    stream: fc.boolean(),
    environment: fc.nat(size - 1),
  });
  const anAttack = fc.array(fc.array(aRequest, { maxLength: 3 }), {
    minLength: SECONDS,
    maxLength: SECONDS,
  });

  test('no sequence of one project’s requests changes the success rate of another by 1 %', async () => {
    for (const attack of fc.sample(anAttack, RUNS)) {
      const [attacker, innocent] = [await fleet.createTenant(), await fleet.createTenant()];
      const model = nextModel();
      const sent: Promise<unknown>[] = [];
      let turn = 0;
      const account = await withBystander({
        clock,
        seconds: SECONDS,
        ask: () => ask(innocent, { model, prompt: 'hi', environment: turn++ % size }),
        act: (second) => {
          for (const asked of attack[second - 1] ?? [])
            sent.push(ask(attacker, { model, ...asked }));
          return undefined;
        },
      });
      await settle(sent);
      expect(account.asked).toBe(SECONDS);
      expect(account.successRate).toBeGreaterThanOrEqual(0.99);
    }
  });

  test.each(['slow', '500'])(
    'after an outage probes of a project that end as %s cost another at most 3 requests',
    async (prompt) => {
      const tenants = [await fleet.createTenant(), await fleet.createTenant()];
      const [attacker, innocent] = tenants;
      if (!attacker || !innocent) throw new Error('two tenants');
      const model = nextModel();
      upstream.state.isDown = true;
      for (let turn = 0; turn < 5; turn += 1) {
        await ask(tenants[turn % 2] ?? attacker, { model, prompt: 'hi' });
      }
      upstream.state.isDown = false;
      clock.advance(12_000);
      const sent: Promise<unknown>[] = [];
      let turn = 0;
      const account = await withBystander({
        clock,
        seconds: 10,
        ask: () => ask(innocent, { model, prompt: 'hi', environment: turn++ % size }),
        act: () => {
          for (let at = 0; at < size; at += 1) {
            sent.push(ask(attacker, { model, prompt, environment: at }));
          }
          return undefined;
        },
      });
      await settle(sent);
      expect(account.asked - account.succeeded).toBeLessThanOrEqual(3);
    },
  );
});
