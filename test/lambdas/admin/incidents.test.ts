import { createServer } from 'node:http';
import { expect, onTestFinished, test } from 'vitest';
import * as z from 'zod';
import { openStores } from '../../../local/local-stores.ts';
import { listen } from '../../../local/loopback.ts';
import { testModels } from '../../metering/test-models.ts';
import { CANARIES } from '../../support/leak-watch.ts';
import { post, withRouter } from '../../support/local.ts';
import { createManualClock } from '../../support/manual-clock.ts';
import { modelOn, targetAt } from '../../support/models.ts';

const Incidents = z.object({
  of_requests: z.number(),
  data: z.array(z.looseObject({ state: z.string(), whose_fault: z.string() })),
});
const Measured = z.object({
  models: z.array(z.looseObject({ model: z.string(), requests: z.number(), failed: z.number() })),
  targets: z.array(z.looseObject({ target: z.string() })),
});
const Requests = z.object({ data: z.array(z.looseObject({ model: z.string() })) });

test('failures, figures of targets and filtered requests agree with the requests that were sent', async () => {
  const clock = createManualClock(Date.parse('2026-11-22T10:00:00Z'));
  const catalog = testModels().slice(0, 2);
  const [good, bad] = catalog;
  if (!good || !bad) throw new Error('There are no models.');
  await withRouter({ clock, catalog }, async (router) => {
    const read = async (path: string): Promise<unknown> =>
      (await fetch(`${router.baseUrl}/admin${path}`)).json();
    const ask = async (model: string, key = router.key) => {
      const body = { model, messages: [{ role: 'user', content: 'say hi' }], stream: true };
      await (await post(router, '/v1/chat/completions', body, { key })).text();
    };
    await ask(good.id);
    await ask(bad.id);
    clock.advance(60_000);
    await ask(bad.id);
    await ask(good.id, 'mrk_live_wrong');

    const { data: listed } = Requests.parse(await read('/requests'));
    expect(listed).toHaveLength(4);
    const { of_requests, data } = Incidents.parse(await read('/incidents'));
    expect(of_requests).toBe(3);
    // The refused request is the newest, and no operator's to correct.
    expect(data.map(({ whose_fault: fault }) => fault)).toEqual(['provider', 'caller']);
    expect(data.filter(({ whose_fault: fault }) => fault === 'provider')).toMatchObject([
      {
        ...{ state: 'failing', error: 'status 503', requests: 2, failed: 2, key_count: 1 },
        ...{ since: '2026-11-22T10:00:00Z', last: '2026-11-22T10:01:00Z', is_since_exact: true },
        ...{ models: [bad.id], projects: ['local'], runbook: 'no-healthy-target' },
      },
    ]);
    expect(data.filter(({ whose_fault: fault }) => fault === 'caller')).toMatchObject([
      { state: 'failing', requests: 1, key_count: 0 },
    ]);
    const { models, targets } = Measured.parse(await read('/targets/measured'));
    expect(models).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ model: bad.id, requests: 2, failed: 2, first_content_ms: null }),
        expect.objectContaining({
          ...{ model: good.id, requests: 1, failed: 0 },
          first_content_ms: {
            p50: expect.any(Number),
            p95: expect.any(Number),
            p99: expect.any(Number),
          },
        }),
      ]),
    );
    expect(targets).toHaveLength(2);
    const found = async (query: string) =>
      Requests.parse(await read(`/requests?${query}`)).data.length;
    expect(await found(`model=${encodeURIComponent(bad.id)}`)).toBe(2);
    expect(await found('fault=provider')).toBe(2);
    expect(await found('fault=caller')).toBe(1);
    expect(await found('error=status')).toBe(2);
    expect(await found(`target=${encodeURIComponent(String(targets[0]?.target))}`)).toBeGreaterThan(
      0,
    );
    expect((await fetch(`${router.baseUrl}/admin/requests?fault=nobody`)).status).toBe(400);
    expect(Object.keys(z.looseObject({}).parse(await read('/overview')))).toEqual(
      expect.arrayContaining(['projects', 'plans', 'usage', 'near', 'failed']),
    );
  });
});

test('a target that another environment holds off is an incident, though no request was read that it failed', async () => {
  const clock = createManualClock(Date.parse('2026-11-22T10:00:00Z'));
  const provider = createServer((_, response) => response.writeHead(500).end());
  const { url, close } = await listen(provider);
  onTestFinished(close);
  const catalog = [modelOn([targetAt(url)])];
  const secrets = { secret: CANARIES.upstreamKey };
  const shared = openStores(clock);
  const apart = openStores(clock);
  const { breakers } = shared.parts;
  const elsewhere = { ...apart, parts: { ...apart.parts, breakers } };
  await withRouter({ clock, catalog, secrets, stores: elsewhere }, async (router) => {
    // The failures of one project are its own.
    for (const id of ['one', 'two', 'three', 'four']) {
      await (await post(router, '/admin/projects', { id })).text();
      const created = await post(router, `/admin/projects/${id}/keys`, { plan: 'local' });
      const { key } = z.object({ key: z.string() }).parse(await created.json());
      for (let turn = 0; turn < 5; turn += 1) {
        const body = { model: 'vendor/model', messages: [{ role: 'user', content: 'say hi' }] };
        await (await post(router, '/v1/chat/completions', body, { key })).text();
      }
    }
  });
  await withRouter({ clock, catalog, secrets, stores: shared }, async (router) => {
    const response = await fetch(`${router.baseUrl}/admin/incidents`);
    expect(Incidents.parse(await response.json())).toMatchObject({
      of_requests: 0,
      data: [
        {
          ...{ state: 'failing', whose_fault: 'provider', error: null, requests: 0, key_count: 0 },
          what: 'The target is held off after failures that are not among the requests read.',
          ...{ runbook: 'no-healthy-target', held_off_until: expect.any(String), since: null },
        },
      ],
    });
  });
});
