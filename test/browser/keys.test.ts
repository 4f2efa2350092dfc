import { createHash } from 'node:crypto';
import OpenAI from 'openai';
import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { MODEL_ON } from '../support/local.ts';
import { chooseFor, createKey, rowOf, takeSecret, useConsole } from './browser.ts';

const { router, withTab } = useConsole();

const HELLO = { role: 'user' as const, content: 'say hello' };

const askChat = async (apiKey: string): Promise<unknown> => {
  const client = new OpenAI({ baseURL: `${router().baseUrl}/v1`, apiKey, maxRetries: 0 });
  const completion = await client.chat.completions.create({
    model: MODEL_ON.chat,
    messages: [HELLO],
  });
  return completion.choices[0]?.message.content;
};

const adminPost = async (path: string, body: object): Promise<void> => {
  const response = await fetch(`${router().baseUrl}${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  expect(response.status).toBe(201);
};

/** The name of the focused element: its label, or its text. */
const focusedName = (page: Page): Promise<string> =>
  page.evaluate(
    '(document.activeElement.ariaLabel ?? document.activeElement.labels?.[0]?.innerText ?? document.activeElement.innerText ?? "").trim()',
  );

test('a rotated key and its successor share their counts, and a revoked one gets 401', async () => {
  await withTab('#/keys', async ({ page }) => {
    const old = await createKey(page, 'nightly');
    await page.getByRole('button', { name: 'Rotate nightly' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Rotate' }).click();
    const successor = await takeSecret(page);
    expect(await askChat(old)).toBe('hello');
    expect(await askChat(successor)).toBe('hello');
    await page.reload();
    const rows = rowOf(page, 'nightly');
    await expect.poll(() => rows.count()).toBe(2);
    await expect.poll(() => rows.first().innerText()).toContain('2 / 100K');
    await expect.poll(() => rows.last().innerText()).toContain('2 / 100K');

    const replaced = rows.filter({ hasText: 'replaced' });
    await replaced.getByRole('button', { name: 'More actions for nightly' }).click();
    await page.getByRole('menuitem', { name: 'Revoke…' }).click();
    const dialog = page.getByRole('dialog', { name: 'Revoke “nightly”?' });
    const revoke = dialog.getByRole('button', { name: 'Revoke now' });
    expect(await revoke.isDisabled()).toBe(true);
    await dialog.getByLabel('Type nightly to confirm').fill('nightl');
    expect(await revoke.isDisabled()).toBe(true);
    await dialog.getByLabel('Type nightly to confirm').fill('nightly');
    await dialog.getByLabel('It leaked').check();
    await revoke.click();
    await dialog.waitFor({ state: 'detached' });
    await expect(askChat(old)).rejects.toMatchObject({ status: 401 });
    expect(await askChat(successor)).toBe('hello');
    await page.goto(`${new URL(page.url()).origin}/dashboard#/audit`);
    await rowOf(page, 'keys.revoke').getByText('leaked').waitFor();
  });
});

test('the dialog of a new key closes only after the box is ticked, and then the key is nowhere', async () => {
  await withTab('', async ({ page, context, requests, responses }) => {
    await page.getByRole('link', { name: 'API keys' }).click();
    await page.getByRole('heading', { name: 'API keys' }).waitFor();
    await page.getByRole('button', { name: 'Create key' }).click();
    await page.getByLabel('Name').fill('once');
    const create = page.getByRole('dialog').getByRole('button', { name: 'Create key' });
    await create.dblclick();
    const dialog = page.getByRole('dialog', { name: 'Save this key now' });
    await dialog.getByRole('tab', { name: 'curl' }).waitFor();
    for (const close of [
      () => page.keyboard.press('Escape'),
      () => page.keyboard.press('Escape'),
      () => page.mouse.click(5, 5),
      () => page.evaluate('history.back()'),
    ]) {
      await close();
      await dialog.waitFor();
    }
    expect(await dialog.getByRole('button', { name: 'Done' }).isDisabled()).toBe(true);
    // It is shown for two seconds.
    await Promise.all([
      dialog.getByText('Copied').waitFor(),
      dialog.getByRole('button', { name: 'Copy the API key' }).click(),
    ]);
    const key = await takeSecret(page);
    expect(await page.evaluate('navigator.clipboard.readText()')).toBe(key);

    await page.reload();
    await page.getByRole('link', { name: 'API keys' }).click();
    await rowOf(page, 'once').waitFor();
    const places = await page.evaluate(
      '[document.documentElement.outerHTML, JSON.stringify({...localStorage, ...sessionStorage}), location.href, document.cookie].join()',
    );
    expect(places).not.toContain(key);
    expect(requests.join()).not.toContain(key);
    // The one that created it.
    const withKey = () => responses.filter((body) => body.includes(key)).length;
    await expect.poll(withKey).toBe(1);
    expect((await context.storageState()).cookies).toEqual([]);
    const posts = requests.filter((line) => line.startsWith('POST'));
    expect(posts).toHaveLength(1);
  });
});

test('a pasted key finds its row in another project, and only its hash leaves the page', async () => {
  await withTab('#/keys?project=local', async ({ page, requests }) => {
    const key = await createKey(page, 'to be found');
    await adminPost('/admin/projects', { id: 'elsewhere' });
    await page.goto(`${router().baseUrl}/dashboard#/keys?project=elsewhere`);
    await page.getByText('No keys in this project').waitFor();
    await page.getByRole('searchbox').fill(key);
    await rowOf(page, 'to be found').waitFor();
    await expect.poll(() => page.url()).toContain('project=local');
    const sha256 = createHash('sha256').update(key).digest('hex');
    expect(requests.join()).toContain(sha256);
    expect(requests.join()).not.toContain(key);
    await expect.poll(() => page.getByRole('searchbox').inputValue()).not.toContain(key);
    await page.getByRole('searchbox').fill('undefined');
    await page.getByText('No key matches “undefined”').waitFor();
    await page.getByRole('button', { name: 'Clear' }).click();
    await rowOf(page, 'to be found').waitFor();
  });
});

test('a key is paused and resumed from its menu, and a moved one has the limits of its new plan', async () => {
  await adminPost('/admin/plans', { id: 'tiny', rpm: 5, quota: 7, period: 'day' });
  await withTab('#/keys?project=local', async ({ page }) => {
    await createKey(page, 'switchable');
    const choose = (item: string) => chooseFor(page, 'switchable', item);
    // Each is shown for fifteen seconds.
    const row = rowOf(page, 'switchable');
    await Promise.all([row.getByText('pausing…').waitFor(), choose('Pause')]);
    await page.reload();
    await row.getByText('paused').waitFor();
    await Promise.all([row.getByText('resuming…').waitFor(), choose('Resume')]);
    await choose('Move to a plan…');
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Plan').selectOption('tiny');
    await dialog.getByText('5 requests a minute, 7 a day.').waitFor();
    await dialog.getByRole('button', { name: 'Move', exact: true }).click();
    await dialog.waitFor({ state: 'detached' });
    await page.reload();
    await expect.poll(() => rowOf(page, 'switchable').innerText()).toContain('/ 7');
  });
});

test('names of markup, wide and right-to-left letters are shown as text', async () => {
  const names = [
    '<img src=x onerror=alert(1)>',
    '"><script>alert(1)</script>',
    'א'.repeat(90),
    '漢'.repeat(90),
  ];
  for (const name of names) await adminPost('/admin/projects/local/keys', { plan: 'local', name });
  await withTab(
    '#/keys?project=local',
    async ({ page }) => {
      for (const name of names) await page.getByText(name, { exact: true }).first().waitFor();
      expect(await page.locator('main img, main script').count()).toBe(0);
      expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(390);
    },
    { width: 390 },
  );
});

test('the keyboard alone creates a key and revokes it, and the focus returns to what opened a dialog', async () => {
  await withTab('#/keys?project=local', async ({ page }) => {
    const { keyboard } = page;
    // Tab goes round, so what appears late is reached in a later round.
    const focusOn = (name: string) =>
      expect
        .poll(
          async () => {
            const focused = await focusedName(page);
            if (focused !== name) await keyboard.press('Tab');
            return focused;
          },
          { interval: 1 },
        )
        .toBe(name);
    await page.getByRole('table').waitFor();
    await focusOn('Create key');
    await keyboard.press('Enter');
    await keyboard.press('Escape');
    await expect.poll(() => focusedName(page)).toBe('Create key');
    await keyboard.press('Enter');
    await focusOn('Name');
    await keyboard.type('by keyboard');
    await keyboard.press('Enter');
    await focusOn('I have saved it');
    await keyboard.press('Space');
    await focusOn('Done');
    await keyboard.press('Enter');
    await focusOn('More actions for by keyboard');
    await keyboard.press('Enter');
    await keyboard.press('ArrowUp');
    await keyboard.press('Enter');
    await focusOn('Type by keyboard to confirm');
    await keyboard.type('by keyboard');
    await keyboard.press('Enter');
    await rowOf(page, 'by keyboard').getByText('revoked').waitFor();
  });
});
