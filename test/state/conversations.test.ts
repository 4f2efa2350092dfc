import { expect, onTestFinished, test } from 'vitest';
import { systemClock } from '../../lambdas/support/clock.ts';
import { startHeldUpstream } from '../replay/held-upstream.ts';
import { startFleet } from '../support/fleet.ts';
import { modelOn, targetAt } from '../support/models.ts';
import { send } from '../support/send.ts';

type Json = Record<string, unknown>;

/** A router that stores responses, and what a request of it gets. */
const start = async () => {
  const upstream = await startHeldUpstream();
  const fleet = await startFleet({
    models: [modelOn([targetAt(upstream.url)])],
    clock: systemClock,
  });
  onTestFinished(async () => {
    await fleet.close();
    await upstream.close();
  });
  const plan = { rpm: 1_000_000, quota: 1_000_000, period: 'month', state: 'default' } as const;
  await fleet.stores.plans.putPlan({ id: 'fleet', ...plan });
  const create = async (fields: Json) => {
    const { status, text } = await send(fleet.urls[0] ?? '', '/v1/responses', {
      ...{ method: 'POST', headers: { 'x-api-key': fleet.key } },
      body: JSON.stringify({ model: 'vendor/model', input: 'hi', ...fields }),
    });
    const { id, error } = JSON.parse(text) as { id: string; error?: Json };
    return { status, id, error };
  };
  return { upstream, create };
};

const reference = (id: string) => ({ type: 'item_reference', id });

test('references to items of their own conversation, and to each other, make no cycle', async () => {
  const { create } = await start();
  const first = await create({});
  const said = `msg_${first.id.slice(5)}0`;
  const second = await create({ previous_response_id: first.id, input: [reference(said)] });
  const third = await create({
    previous_response_id: second.id,
    input: [reference(said), reference(said), reference(`msg_${second.id.slice(5)}0`)],
  });
  expect([second.status, third.status]).toEqual([200, 200]);
  // The stored item of this place is a reference itself.
  const named = await create({ input: [reference(`msg_${second.id.slice(5)}i0`)] });
  expect(named).toMatchObject({ status: 404, error: { param: 'input' } });
});

test('a response that still runs is not continued, and one that would continue itself does not exist', async () => {
  const { create, upstream } = await start();
  upstream.state.isQuick = false;
  const queued = await create({ background: true });
  await expect.poll(() => upstream.calls.length).toBe(1);
  expect(await create({ previous_response_id: queued.id })).toMatchObject({
    ...{ status: 400, error: { param: 'previous_response_id' } },
  });
  upstream.calls[0]?.finish();
  const own = `resp_${'0'.repeat(24)}`;
  expect(await create({ id: own, previous_response_id: own })).toMatchObject({
    ...{ status: 400, error: { code: 'previous_response_not_found' } },
  });
});
