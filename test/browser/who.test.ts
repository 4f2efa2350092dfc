import { setTimeout } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { post } from '../support/local.ts';
import { allLoaded, rowOf, useConsole } from './browser.ts';

const { router, withTab } = useConsole();

const BODY = { model: 'aurora/scribe-1', messages: [{ role: 'user', content: 'say one two' }] };

test('usage by session leads to the session, whose page has its requests in their order and what they cost, and a request to those of its user', async () => {
  const ids: string[] = [];
  for (const session of ['s-1', 's-1', 's-2']) {
    const headers = { 'x-router-user': 'ann', 'x-router-session': session };
    const response = await post(router(), '/v1/chat/completions', BODY, { headers });
    await response.text();
    ids.push(String(response.headers.get('x-request-id')));
    // The order of requests is known to the second.
    await setTimeout(1_100);
  }
  await withTab('#/usage', async ({ page }) => {
    await page.getByText('Cost by kind').first().waitFor({ state: 'attached' });
    await page.getByText('By session').click();
    await allLoaded(page);
    await page.getByRole('link', { name: 's-1' }).click();
    await page.getByRole('heading', { name: 'Session' }).waitFor();
    await rowOf(page, ids[1] ?? '').waitFor();
    const shown = await page.locator('tbody a.mono').allTextContents();
    expect(shown).toEqual(ids.slice(0, 2));
    expect(await page.locator('tfoot').innerText()).toMatch(/2 requests[^$]*\$0\.\d+\s*$/);
    await page.getByRole('link', { name: ids[0] ?? '' }).click();
    await page.getByRole('link', { name: 'user ann' }).click();
    await rowOf(page, ids[2] ?? '').waitFor();
  });
});
