import { expect, test } from 'vitest';
import { ask, useConsole, violationsOn } from './browser.ts';

const { router, withTab } = useConsole({ prepare: (started) => ask(started) });

test('Ctrl+K leads to a page by a few letters, to a key and a request by their ids, and to a key by its beginning', async () => {
  await withTab('#/overview', async ({ page }) => {
    const dialog = page.getByRole('dialog', { name: 'Go to' });
    const goTo = async (text: string) => {
      await page.keyboard.press('Control+k');
      await dialog.getByRole('searchbox').fill(text);
      await page.keyboard.press('Enter');
      await dialog.waitFor({ state: 'detached' });
    };
    await page.getByRole('heading', { name: 'Overview', level: 1 }).waitFor();
    await page.keyboard.press('Control+k');
    await dialog.waitFor();
    expect(await violationsOn(page)).toEqual([]);
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'detached' });
    await goTo('keys loc');
    await page.getByRole('heading', { name: 'API keys', level: 1 }).waitFor();
    await page.getByRole('link', { name: 'unnamed' }).last().click();
    await page.getByRole('button', { name: 'Copy the key id' }).waitFor();
    const id = decodeURIComponent(/key_\w+/.exec(page.url())?.[0] ?? '');
    await goTo('aud');
    await page.getByRole('heading', { name: 'Audit', level: 1 }).waitFor();
    await goTo(id);
    await page.getByRole('button', { name: 'Copy the key id' }).waitFor();
    expect(page.url()).toContain(id);
    await goTo('aud');
    await page.getByRole('heading', { name: 'Audit', level: 1 }).waitFor();
    await goTo(router().key.slice(0, 13));
    await page.getByRole('button', { name: 'Copy the key id' }).waitFor();
    expect(page.url()).toContain(id);
    await page.getByRole('link', { name: /^req_/ }).first().click();
    await page.getByText('The request was answered.').waitFor();
    const request = /req_\w+/.exec(page.url())?.[0] ?? '';
    await goTo('plans');
    await goTo(request);
    await page.getByText('The request was answered.').waitFor();
    expect(page.url()).toContain(request);
  });
});

test('Ctrl+K with a name or an id that does not exist says so and stays open', async () => {
  await withTab('#/overview', async ({ page }) => {
    const dialog = page.getByRole('dialog', { name: 'Go to' });
    await page.getByRole('heading', { name: 'Overview', level: 1 }).waitFor();
    await page.keyboard.press('Control+k');
    await dialog.getByRole('searchbox').fill('nowhere');
    await page.keyboard.press('Enter');
    await dialog.getByText('No page or project has this name.').waitFor();
    await dialog.getByRole('searchbox').fill('key_nowhere');
    await page.keyboard.press('Enter');
    await dialog.getByRole('alert').waitFor();
    expect(await violationsOn(page)).toEqual([]);
    await dialog.getByRole('searchbox').fill('plans');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Plans', level: 1 }).waitFor();
  });
});

test('a dialog that opens right after another has closed stays open', async () => {
  await withTab('#/overview', async ({ page }) => {
    const dialog = page.getByRole('dialog', { name: 'Go to' });
    await page.getByRole('heading', { name: 'Overview', level: 1 }).waitFor();
    await page.keyboard.press('Control+k');
    await dialog.waitFor();
    // Within one task, as between two keys of a fast typist: the event that the first has closed is still to come.
    await page.evaluate(`(async () => {
      const find = () => document.querySelector('dialog[open]');
      const first = find();
      first.dispatchEvent(new Event('cancel', { cancelable: true }));
      while (first.isConnected) await undefined;
      dispatchEvent(new KeyboardEvent('keydown', { key: 'k', ctrlKey: true }));
      while (!find()) await undefined;
      await new Promise((resolve) => first.addEventListener('close', resolve));
      await new Promise((resolve) => requestAnimationFrame(resolve));
    })()`);
    expect(await dialog.isVisible()).toBe(true);
  });
});
