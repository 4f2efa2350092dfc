import { expect, test } from 'vitest';
import * as z from 'zod';
import { testModels } from '../../metering/test-models.ts';
import { post, withRouter } from '../../support/local.ts';
import { createManualClock } from '../../support/manual-clock.ts';
import { runCli } from '../../support/run-cli.ts';

const Targets = z.object({
  data: z.array(z.looseObject({ model: z.string(), state: z.string(), place: z.string() })),
});

test('the list of targets has the place, prices and breaker of each, open after failures of two projects', async () => {
  const clock = createManualClock(Date.parse('2026-11-22T10:00:00Z'));
  const catalog = testModels().slice(0, 2);
  const [first, second] = catalog;
  if (!first || !second) throw new Error('There are no models.');
  await withRouter({ clock, catalog }, async (router) => {
    const list = async () => {
      const response = await fetch(`${router.baseUrl}/admin/targets`);
      return Targets.parse(await response.json()).data;
    };
    const prices = { input_price_per_m: first.input_price_per_m };
    expect(await list()).toMatchObject([
      { place: '[0].targets[0]', model: first.id, state: 'closed', ...prices },
      {
        place: '[1].targets[0]',
        model: second.id,
        state: 'closed',
        upstream_model: 'refuses!status=503',
      },
    ]);
    const call = async (path: string, body: object) => {
      const response = await fetch(`${router.baseUrl}/admin${path}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(body),
      });
      return response.json();
    };
    await call('/projects', { id: 'second' });
    const { key } = z
      .object({ key: z.string() })
      .parse(await call('/projects/second/keys', { plan: 'local' }));
    const body = { model: second.id, messages: [{ role: 'user', content: 'say hi' }] };
    for (let request = 0; request < 5; request += 1) {
      for (const caller of [router.key, key]) {
        await (await post(router, '/v1/chat/completions', body, { key: caller })).text();
      }
    }
    await expect
      .poll(async () => (await list()).map(({ state }) => state))
      .toEqual(['closed', 'open']);
    const [, open] = await list();
    const until = Date.parse(String(open?.open_until));
    expect(until).toBeGreaterThan(clock.now());
    clock.set(until + 1_000);
    expect((await list())[1]).toMatchObject({ state: 'half-open' });

    const { out } = await runCli(['targets', '--url', router.baseUrl]);
    expect(out).toMatch(/^MODEL +UPSTREAM +UPSTREAM MODEL +STATE/);
    expect(out).toContain('half-open');
  });
});
