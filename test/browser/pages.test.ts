import type { Page } from 'playwright-core';
import { beforeAll, describe, expect, test } from 'vitest';
import { post } from '../support/local.ts';
import { chooseFor, createKey, overflowOf, useConsole, violationsOn } from './browser.ts';

const { router, withTab } = useConsole();

/** Each page, and a text that its content has. */
const PAGES: [hash: string, text: string][] = [
  ['#/overview', 'No key has used half of its quota.'],
  ['#/usage', 'Charged requests'],
  ['#/requests', '200 finished'],
  ['#/models', '[0].targets[0]'],
  ['#/playground', 'Models of the key appear here.'],
  ['#/my-usage', 'The key stays in this page'],
  ['#/keys?project=local', '1 / 100K'],
  ['#/plans', '100,000 a month'],
  ['#/projects', 'A project owns keys'],
  ['#/members', 'operators invite EMAIL'],
  ['#/audit', 'projects.create'],
];

const ask = async (content: string, key = router().key): Promise<string> => {
  const body = { model: 'aurora/scribe-1', messages: [{ role: 'user', content }] };
  return (await post(router(), '/v1/chat/completions', body, { key })).text();
};

beforeAll(async () => {
  await ask('say hello');
  const created = await fetch(`${router().baseUrl}/admin/projects`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ id: 'second', name: 'Second' }),
  });
  expect(created.status).toBe(201);
});

test.each(PAGES)(
  'the page %s has no axe violation in either theme, and no overflow at any width',
  async (hash, text) => {
    await withTab(hash, async ({ page }) => {
      await page.getByText(text).first().waitFor();
      for (const colorScheme of ['light', 'dark'] as const) {
        await page.emulateMedia({ colorScheme });
        expect(await violationsOn(page)).toEqual([]);
      }
      for (const width of [768, 390]) {
        await page.setViewportSize({ width, height: 820 });
        expect(await overflowOf(page)).toBeLessThanOrEqual(0);
      }
      expect(await violationsOn(page)).toEqual([]);
    });
  },
);

test('every dialog of the keys has no axe violation', async () => {
  await withTab('#/keys?project=local', async ({ page }) => {
    await createKey(page, 'dialogs');
    const openFrom = {
      'Create key': () => page.getByRole('button', { name: 'Create key' }).click(),
      Rotate: () => page.getByRole('button', { name: 'Rotate dialogs' }).click(),
      ...Object.fromEntries(
        ['Edit…', 'Move to a plan…', 'Revoke…'].map((item) => [
          item,
          () => chooseFor(page, 'dialogs', item),
        ]),
      ),
    };
    for (const open of Object.values(openFrom)) {
      await open();
      await page.getByRole('dialog').waitFor();
      expect(await violationsOn(page)).toEqual([]);
      await page.keyboard.press('Escape');
    }
  });
});

test('the overview names a key that has used four fifths of its quota', async () => {
  const key = await router().createKey({ plan: { quota: 5 } });
  for (let sent = 0; sent < 4; sent += 1) await ask('say hello', key);
  await withTab('#/overview', async ({ page }) => {
    await page.getByText('4 of 5 this month').waitFor();
  });
});

test('a request has its timeline, and what to do when it failed', async () => {
  await ask('fault status=400');
  await withTab('#/requests', async ({ page }) => {
    await page.getByText('Failed', { exact: true }).click();
    await page.getByRole('link', { name: /^req_/ }).first().click();
    await page.getByText('What to do:').waitFor();
    await page.getByText('received for aurora/scribe-1 over chat').waitFor();
    expect(await violationsOn(page)).toEqual([]);
  });
});

test.each([
  ['This month', new Date().getUTCDate()],
  ['Last month', new Date(new Date().setUTCDate(0)).getUTCDate()],
])('the usage of %s has a bar for each of its %i UTC days', async (range, days) => {
  await withTab('#/usage', async ({ page }) => {
    await page.getByText(range, { exact: true }).click();
    await expect.poll(() => page.locator('.plot rect').count()).toBe(days);
  });
});

test('the sums of the usage agree by day, model and key', async () => {
  await withTab('#/usage', async ({ page }) => {
    const totals = [];
    for (const group of ['By day', 'By model', 'By key', 'By project']) {
      await page.getByText(group, { exact: true }).click();
      const foot = page
        .getByRole('table', { name: `Usage ${group.toLowerCase()}` })
        .locator('tfoot td');
      await foot.first().waitFor();
      totals.push((await foot.allInnerTexts()).slice(2).join(' '));
    }
    expect(new Set(totals).size).toBe(1);
    expect(totals[0]).toMatch(/^[1-9]/);
  });
});

test.each(['Chat completions', 'Messages'])(
  'the playground streams a response over %s',
  async (api) => {
    await withTab('#/playground', async ({ page, requests }) => {
      await page.getByLabel('API key').fill(router().key);
      await page
        .getByLabel('Model', { exact: true })
        .locator('option')
        .first()
        .waitFor({ state: 'attached' });
      await page.getByText(api, { exact: true }).click();
      await page.getByLabel('Prompt').fill('say the whole sentence');
      await page.getByRole('button', { name: 'Send' }).click();
      await page.getByText('the whole sentence', { exact: true }).waitFor();
      expect(requests.map((line) => line.split(' ')[1]).join()).not.toContain(router().key);
      await page.getByRole('link', { name: /^req_/ }).click();
      await page.getByText('The request was answered.').waitFor();
    });
  },
);

test('a key shows its usage to its holder, and stays out of the address', async () => {
  await withTab('#/my-usage', async ({ page }) => {
    await page.getByLabel('API key').fill('mrk_live_wrong');
    await page.getByRole('button', { name: 'Show usage' }).click();
    await page.getByRole('alert').waitFor();
    await page.getByLabel('API key').fill(router().key);
    await page.getByRole('button', { name: 'Show usage' }).click();
    await page.getByText(/\/ 100K/).waitFor();
    expect(page.url()).not.toContain(router().key);
  });
});

test('Ctrl+K leads to a page by a few letters, and to a key and a request by their ids', async () => {
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

test('a target is tested with each call from the models page', async () => {
  await withTab('#/models', async ({ page }) => {
    await page.getByRole('button', { name: 'Test aurora/scribe-1 at aurora' }).click();
    const row = page.getByRole('row').filter({ hasText: '[0].targets[0]' });
    for (const call of ['whole', 'streamed', 'tool']) await row.getByText(`${call} `).waitFor();
  });
});

describe('failures of the API', () => {
  const failWith = (page: Page, path: string, status: number) =>
    page.route(`**/dashboard/api/${path}`, (route) =>
      route.fulfill({
        status,
        headers: { 'x-request-id': 'req_test' },
        json: { error: { message: `The call failed with ${status}.`, param: null } },
      }),
    );

  test.each([401, 403, 404, 500, 503])(
    'a %i is shown with its request id and never as an empty project',
    async (status) => {
      await withTab('#/overview', async ({ page }) => {
        await failWith(page, 'projects/local/keys?*', status);
        await page.getByRole('link', { name: 'API keys' }).click();
        await page.getByLabel('Project').selectOption('local');
        await page.getByText(`The call failed with ${status}.`).waitFor();
        await page.getByText('req_test').waitFor();
        expect(await page.getByText('No keys in this project').count()).toBe(0);
        expect(await violationsOn(page)).toEqual([]);
        await page.unroute('**/dashboard/api/projects/local/keys?*');
        await page.getByRole('button', { name: 'Try again' }).click();
        await page.getByText('mrk_live_').first().waitFor();
      });
    },
  );

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
});
