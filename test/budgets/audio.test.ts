import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type BudgetLab, dollarsOf, startBudgetLab } from './lab.ts';

let lab: BudgetLab;
beforeAll(async () => {
  lab = await startBudgetLab();
});
afterAll(() => lab.close());

const MEMBERS = { modalities: ['text', 'audio'], audio: { voice: 'alloy', format: 'pcm16' } };

/** A spoken response under a budget, and what the provider bills from then on. */
const ask = async (max_usd: number, order: string, options: { signal?: AbortSignal } = {}) => {
  const { id, keys } = await lab.createProject();
  await lab.admin(`/projects/${id}/budget`, { max_usd, period: 'day' });
  lab.pass();
  const before = lab.provider.invoices.length;
  const response = await lab.ask({
    ...{ key: keys[0] ?? '', route: '/v1/chat/completions', model: 'test/speaking' },
    ...{ order: `speaks=1 ${order}`, maxTokens: 16_000, members: MEMBERS, ...options },
  });
  const invoices = () => lab.provider.invoices.slice(before);
  const spent = async () => {
    await expect.poll(() => invoices().every(({ isOver }) => isOver)).toBe(true);
    await expect.poll(async () => (await lab.budget(`/projects/${id}`)).leased_usd).toBe(0);
    return (await lab.budget(`/projects/${id}`)).spent_usd;
  };
  return { response, billed: () => dollarsOf(invoices()), spent };
};

describe('audio under a budget', () => {
  test('a spoken response costs the price of its audio, to the nano-dollar', async () => {
    const { response, billed, spent } = await ask(1, 'output=300');
    expect(await response.text()).toContain('"audio_tokens":300');
    expect(await spent()).toBe(billed());
  });

  test('a spoken response ends where its budget does', async () => {
    const { response, billed, spent } = await ask(0.2, 'output=5000 pace=1');
    expect(await response.text()).toContain('"finish_reason":"length"');
    expect(await spent()).toBeGreaterThan(0.17);
    expect(billed()).toBeLessThanOrEqual(0.2);
  });

  test('a spoken response whose client disconnects costs what was spoken until then', async () => {
    const left = new AbortController();
    const { response, billed, spent } = await ask(1, 'output=4000 pace=5', { signal: left.signal });
    const reader = response.body?.getReader();
    for (let n = 0; n < 20; n += 1) await reader?.read();
    left.abort();
    const spent_usd = await spent();
    expect(spent_usd).toBeGreaterThan(billed() * 0.5);
    expect(spent_usd).toBeLessThan(billed() * 1.2);
  });

  test('a spoken response of a target without a price of audio is a 400 that names it', async () => {
    const { id, keys } = await lab.createProject();
    await lab.admin(`/projects/${id}/budget`, { max_usd: 1, period: 'day' });
    lab.pass();
    const asked = {
      key: keys[0] ?? '',
      route: '/v1/chat/completions',
      model: 'test/chat',
    } as const;
    const response = await lab.ask({ ...asked, members: MEMBERS });
    expect(response.status).toBe(400);
    expect(await response.text()).toMatch(/no price for output_audio.*budget_unpriced/);
  });
});
