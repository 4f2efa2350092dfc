import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { createKey, useConsole, violationsOn } from './browser.ts';

const { router, withTab } = useConsole();

const KEYS = '**/dashboard/api/projects/local/keys?*';

const failWith = (page: Page, status: number) =>
  page.route(KEYS, (route) =>
    route.fulfill({
      status,
      headers: { 'x-request-id': 'req_test' },
      json: { error: { message: `The call failed with ${status}.`, param: null } },
    }),
  );

test('a failed call is shown with its status and request id, and never as an empty project', async () => {
  await withTab('#/overview', async ({ page }) => {
    for (const status of [401, 403, 404, 500, 503]) {
      await failWith(page, status);
      await page.getByRole('link', { name: 'API keys' }).click();
      await page.getByText(`The call failed with ${status}.`).waitFor();
      await page.getByText('req_test').waitFor();
      expect(await page.getByText('No keys in this project').count()).toBe(0);
      expect(await violationsOn(page)).toEqual([]);
      await page.unroute(KEYS);
      await page.getByRole('button', { name: 'Try again' }).click();
      await page.getByText('mrk_live_').first().waitFor();
      await page.getByRole('link', { name: 'Overview' }).click();
      await page.getByRole('heading', { name: 'Overview', level: 1 }).waitFor();
    }
  });
});

test('without a network the last rows stay and a dialog keeps what was typed', async () => {
  await withTab('#/keys?project=local', async ({ page, context }) => {
    await page.getByText('mrk_live_').first().waitFor();
    await page.getByRole('button', { name: 'Create key' }).click();
    await page.getByLabel('Name').fill('offline');
    await context.setOffline(true);
    await page.getByRole('dialog').getByRole('button', { name: 'Create key' }).click();
    await page.getByText(`No answer from ${router().baseUrl}.`).waitFor();
    expect(await page.getByLabel('Name').inputValue()).toBe('offline');
    await context.setOffline(false);
  });
});

test('a second tab sees a key of the first after a reload', async () => {
  await withTab('#/keys?project=local', async ({ page, context }) => {
    const second = await context.newPage();
    await second.goto(`${router().baseUrl}/dashboard#/keys?project=local`);
    await createKey(page, 'seen by both');
    await second.reload();
    await second.getByText('seen by both').waitFor();
  });
});
