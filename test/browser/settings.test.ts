import { expect, test } from 'vitest';
import { chooseFor, createKey, rowOf, useConsole, violationsOn } from './browser.ts';

const { withTab } = useConsole();

test('a plan is created, edited and deleted in the console', async () => {
  await withTab('#/plans', async ({ page }) => {
    const dialog = page.getByRole('dialog');
    await page.getByRole('button', { name: 'Create plan' }).click();
    await page.getByLabel('Id').fill('shop');
    await page.getByLabel('Quota', { exact: true }).fill('1.5');
    await dialog.getByRole('button', { name: 'Create plan' }).click();
    await dialog.getByText('quota: must be an integer').waitFor();
    expect(await violationsOn(page)).toEqual([]);
    await page.getByLabel('Quota', { exact: true }).fill('10000');
    await page.getByLabel('aurora/scribe-1').check();
    await page.getByLabel('Concurrent requests').fill('3');
    await dialog.getByRole('button', { name: 'Create plan' }).click();
    const row = rowOf(page, 'shop');
    await row.getByText('10,000 a month').waitFor();
    await row.getByText('aurora/scribe-1').waitFor();
    await page.getByRole('button', { name: 'Edit shop' }).click();
    await page.getByLabel('Quota', { exact: true }).fill('20');
    await page.getByLabel('Concurrent requests').fill('');
    await dialog.getByRole('button', { name: 'Save' }).click();
    await row.getByText('20 a month').waitFor();
    await row.getByText('no limit').waitFor();
    await chooseFor(page, 'shop', 'Delete…');
    await dialog.getByLabel('Type shop to confirm').fill('shop');
    await dialog.getByRole('button', { name: 'Delete plan' }).click();
    await row.waitFor({ state: 'detached' });
  });
});

test('a plan gets its share of capacity, its wait, required targets, loops and stored responses in the console', async () => {
  await withTab('#/plans', async ({ page }) => {
    const dialog = page.getByRole('dialog');
    await page.getByRole('button', { name: 'Create plan' }).click();
    await page.getByLabel('Id').fill('night');
    await dialog.getByText('Capacity, required targets').click();
    const require = dialog.getByLabel('Required labels of targets');
    for (const [text, problem] of [
      ['region=mars', 'no target of the catalog is labelled'],
      ['planet=mars', 'require'],
      ['region', 'require'],
    ] as const) {
      await require.fill(text);
      await dialog.getByRole('button', { name: 'Create plan' }).click();
      await dialog.getByRole('alert').getByText(problem).waitFor();
    }
    expect(await violationsOn(page)).toEqual([]);
    await require.fill('');
    await dialog.getByLabel('Wait for capacity at most, ms').fill('2500');
    await dialog.getByLabel('Share of capacity').fill('7');
    await dialog.getByLabel('Waits for capacity').selectOption('batch');
    await dialog.getByLabel('Requests in a loop').selectOption('stop');
    await dialog.getByLabel('Responses are stored').selectOption('asked');
    await dialog.getByRole('button', { name: 'Create plan' }).click();
    await rowOf(page, 'night').getByText('where a request asks for it').waitFor();

    const shown = async () => {
      await page.getByRole('button', { name: 'Edit night' }).click();
      await dialog.getByText('Capacity, required targets').click();
      const labels = ['Wait for capacity at most, ms', 'Share of capacity', 'Waits for capacity'];
      const more = ['Requests in a loop', 'Responses are stored', 'Required labels of targets'];
      return Promise.all(
        [...labels, ...more].map((label) => dialog.getByLabel(label).inputValue()),
      );
    };
    expect(await shown()).toEqual(['2500', '7', 'batch', 'stop', 'asked', '']);
    await dialog.getByLabel('Share of capacity').fill('');
    await dialog.getByLabel('Waits for capacity').selectOption('interactive');
    await dialog.getByRole('button', { name: 'Save' }).click();
    await dialog.waitFor({ state: 'detached' });
    expect(await shown()).toEqual(['2500', '1', 'interactive', 'stop', 'asked', '']);
  });
});

test('a budget is set, lowered, paused, resumed and deleted in the console', async () => {
  await withTab('#/budgets', async ({ page }) => {
    const dialog = page.getByRole('dialog');
    await page.getByRole('button', { name: 'Set budget' }).first().click();
    await dialog.getByLabel('Budget of').selectOption('user');
    await dialog.getByLabel('User, as requests name it').fill('ann');
    await dialog.getByLabel('Dollars').fill('20');
    expect(await violationsOn(page)).toEqual([]);
    await dialog.getByRole('button', { name: 'Set budget' }).click();
    const row = rowOf(page, 'user ann of local');
    await row.getByText('$20.00 a month').waitFor();
    await page.getByRole('button', { name: 'Change user ann of local' }).click();
    await dialog.getByLabel('Dollars').fill('2.5');
    await dialog.getByLabel('Period').selectOption('day');
    await dialog.getByRole('button', { name: 'Save' }).click();
    await row.getByText('$2.50 a day').waitFor();
    await chooseFor(page, 'user ann of local', 'Pause…');
    await dialog.getByRole('button', { name: 'Pause' }).click();
    await row.getByText('paused').waitFor();
    await chooseFor(page, 'user ann of local', 'Resume…');
    await dialog.getByRole('button', { name: 'Resume' }).click();
    await row.getByText('paused').waitFor({ state: 'detached' });
    await chooseFor(page, 'user ann of local', 'Delete…');
    await dialog.getByLabel('Type ann to confirm').fill('ann');
    await dialog.getByRole('button', { name: 'Delete budget' }).click();
    await row.waitFor({ state: 'detached' });
  });
});

test('a plan of a key and a project with one are not deleted, and the dialog states why', async () => {
  for (const [hash, button, reason] of [
    ['#/plans', 'Delete plan', /Plan 'local' (?:has 1 keys|got a key)/],
    ['#/projects', 'Delete project', /Project 'local' (?:has 1 keys|got a key)/],
  ] as const) {
    await withTab(hash, async ({ page }) => {
      await chooseFor(page, 'local', 'Delete…');
      const dialog = page.getByRole('dialog');
      expect(await dialog.getByRole('button', { name: button }).isDisabled()).toBe(true);
      await dialog.getByLabel('Type local to confirm').fill('local');
      await dialog.getByRole('button', { name: button }).click();
      await dialog.getByText(reason).waitFor();
      expect(await violationsOn(page)).toEqual([]);
    });
  }
});

test('a project allows its plans and number of keys only, and is deleted when it has none', async () => {
  await withTab('#/plans', async ({ page }) => {
    await page.getByRole('button', { name: 'Create plan' }).click();
    await page.getByLabel('Id').fill('allowed');
    await page.getByRole('dialog').getByRole('button', { name: 'Create plan' }).click();
    await rowOf(page, 'allowed').waitFor();
    await page.getByRole('link', { name: 'Projects' }).click();
    await page.getByRole('button', { name: 'Create project' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Id').fill('shop');
    await dialog.getByLabel('Active keys at most').fill('1');
    await dialog.getByLabel('allowed').check();
    expect(await violationsOn(page)).toEqual([]);
    await dialog.getByRole('button', { name: 'Create project' }).click();

    // Its first key is one click away.
    await page.getByText('No keys in this project').waitFor();
    await page.getByText('Project shop', { exact: false }).first().waitFor();
    await createKey(page, 'the only one');
    await page.getByRole('button', { name: 'Create key' }).click();
    const plans = dialog.getByLabel('Plan').locator('option');
    await expect.poll(() => plans.allInnerTexts()).toEqual(['allowed']);
    await dialog.getByRole('button', { name: 'Create key' }).click();
    await dialog.getByText("Project 'shop' has 1 active keys, its maximum.").waitFor();
    await page.keyboard.press('Escape');

    await page.getByRole('link', { name: 'Projects' }).click();
    await page.getByRole('button', { name: 'Create project' }).click();
    await dialog.getByLabel('Id').fill('empty');
    await dialog.getByRole('button', { name: 'Create project' }).click();
    await page.getByRole('link', { name: 'Projects' }).click();
    await chooseFor(page, 'empty', 'Delete…');
    await dialog.getByLabel('Type empty to confirm').fill('empty');
    await dialog.getByRole('button', { name: 'Delete project' }).click();
    await rowOf(page, 'empty').waitFor({ state: 'detached' });
  });
});

test('a key with limits of its own shows them with its usage, requests and history on its page', async () => {
  await withTab('#/keys?project=local', async ({ page }) => {
    const dialog = page.getByRole('dialog');
    await page.getByRole('button', { name: 'Create key' }).click();
    await dialog.getByLabel('Name').fill('limited');
    await dialog.getByLabel('Plan').selectOption('local');
    await dialog.getByText('Limits below those of the plan').click();
    await dialog.getByLabel('Requests a minute').fill('9999');
    await dialog.getByRole('button', { name: 'Create key' }).click();
    await dialog.getByText('rpm: must be at most 600').waitFor();
    expect(await violationsOn(page)).toEqual([]);
    await dialog.getByLabel('Requests a minute').fill('7');
    await dialog.getByLabel('aurora/scribe-1').check();
    await dialog.getByRole('button', { name: 'Create key' }).click();
    await page.getByLabel('I have saved it').check();
    await page.getByRole('button', { name: 'Done' }).click();

    await page.getByRole('link', { name: 'limited' }).click();
    await page.getByText('7 requests a minute').waitFor();
    await page.getByText('aurora/scribe-1').first().waitFor();
    await page.getByText('No requests in the last 24 hours').waitFor();
    await page.getByText('create', { exact: true }).waitFor();
    await page.getByText('by local').waitFor();
    expect(await violationsOn(page)).toEqual([]);
    await Promise.all([page.getByText('pausing…').waitFor(), chooseFor(page, 'limited', 'Pause')]);
    await page.getByText('pause', { exact: true }).waitFor();
  });
});

test('the webhook of a project is set with a secret that is shown once, replaced and deleted in the console', async () => {
  await withTab('#/projects', async ({ page }) => {
    const dialog = page.getByRole('dialog');
    const save = async (name: string, url: string) => {
      await chooseFor(page, 'local', 'Webhook…');
      await dialog.getByLabel('Address').fill(url);
      await dialog.getByRole('button', { name }).click();
    };
    const takeSecret = async () => {
      const shown = page.getByRole('dialog', { name: 'Save this secret now' });
      const secret = await shown.getByText(/^whsec_/).innerText();
      await shown.getByRole('checkbox').check();
      await shown.getByRole('button', { name: 'Done' }).click();
      await dialog.waitFor({ state: 'detached' });
      return secret;
    };
    await save('Save', 'ftp://example.com');
    await dialog.getByRole('alert').getByText('url').waitFor();
    expect(await violationsOn(page)).toEqual([]);
    await page.keyboard.press('Escape');
    await save('Save', 'https://example.com/hooks');
    const first = await takeSecret();
    await chooseFor(page, 'local', 'Webhook…');
    expect(await dialog.getByLabel('Address').inputValue()).toBe('https://example.com/hooks');
    await page.keyboard.press('Escape');
    await save('Save with a new secret', 'https://example.com/other');
    expect(await takeSecret()).not.toBe(first);
    await save('Save with a new secret', '');
    await page.getByText('There is no webhook.').waitFor();
    await chooseFor(page, 'local', 'Webhook…');
    expect(await dialog.getByLabel('Address').inputValue()).toBe('');
  });
});
