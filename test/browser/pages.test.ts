import { expect, test } from 'vitest';
import { post } from '../support/local.ts';
import { ask, chooseFor, createKey, overflowOf, useConsole, violationsOn } from './browser.ts';

const { router, withTab } = useConsole({
  prepare: async (started) => {
    await ask(started);
    const created = await post(started, '/admin/projects', { id: 'second', name: 'Second' });
    expect(created.status).toBe(201);
    await post(started, '/admin/projects/local/budget', { max_usd: 25, period: 'month' });
    await post(started, '/admin/projects/local/users/budget', { max_usd: 1, period: 'day' });
  },
});

/** Each page, and a text that its content has. */
const PAGES: [hash: string, text: string][] = [
  ['#/overview', 'No key has used half of its quota.'],
  ['#/incidents', 'Nothing fails now'],
  ['#/usage', 'Charged requests'],
  ['#/requests', '200 finished'],
  ['#/models', '[0].targets[0]'],
  ['#/playground', 'Models of the key appear here.'],
  ['#/my-usage', 'The key stays in this page'],
  ['#/keys?project=local', '1 / 100K'],
  ['#/plans', '100,000 a month'],
  ['#/budgets', 'project local'],
  ['#/projects', 'A project owns keys'],
  ['#/members', 'operators invite EMAIL'],
  ['#/audit', 'projects.create'],
];

/** Names in tables that are shown, but without a pixel of width. */
const NAMES_WITHOUT_ROOM = `[...document.querySelectorAll('td > .clip')].filter(
  (name) => name.parentElement.checkVisibility() && name.clientWidth === 0,
).length`;

test.each(PAGES)(
  'the page %s has no axe violation in either theme, and shows all at any width without overflow',
  async (hash, text) => {
    await withTab(hash, async ({ page }) => {
      await page.getByText(text).first().waitFor();
      const checkThemes = async () => {
        for (const colorScheme of ['light', 'dark'] as const) {
          await page.emulateMedia({ colorScheme });
          expect(await violationsOn(page)).toEqual([]);
        }
      };
      await checkThemes();
      for (const width of [1360, 1280, 768, 375]) {
        await page.setViewportSize({ width, height: 820 });
        expect([width, await overflowOf(page)]).toEqual([width, 0]);
        expect(await page.evaluate(NAMES_WITHOUT_ROOM)).toBe(0);
      }
      await checkThemes();
    });
  },
);

test('the page of budgets has what is spent and leased, a forecast and the cost of 14 days', async () => {
  await withTab('#/budgets', async ({ page }) => {
    const row = page.getByRole('row').filter({ hasText: 'project local' });
    await row.getByLabel('Cost of 14 days').waitFor();
    for (const title of ['Spent', 'Open leases', 'Forecast', 'Set by'])
      await page.getByRole('columnheader', { name: title }).waitFor();
    expect(await row.getByText('$25.00 a month').count()).toBe(1);
  });
});

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
  for (let sent = 0; sent < 4; sent += 1) await ask(router(), 'say hello', key);
  await withTab('#/overview', async ({ page }) => {
    await page.getByText('4 of 5 this month').waitFor();
  });
});

test('a request has its timeline, and what to do when it failed', async () => {
  await ask(router(), 'fault status=400');
  await withTab('#/requests', async ({ page }) => {
    await page.getByText('Failed', { exact: true }).click();
    await page.getByRole('link', { name: /^req_/ }).first().click();
    await page.getByText('What to do:').waitFor();
    await page.getByText('received for aurora/scribe-1 over chat').waitFor();
    await page.getByText('It is the next in order.').waitFor();
    expect(await violationsOn(page)).toEqual([]);
  });
});

test('the usage of this month and of the last one has a bar for each of their UTC days', async () => {
  await withTab('#/usage', async ({ page }) => {
    const bars = () => page.locator('.plot rect').count();
    await page.clock.setFixedTime(Date.UTC(2028, 2, 10, 12));
    await page.getByText('This month', { exact: true }).click();
    await expect.poll(bars).toBe(10);
    await page.getByText('Last month', { exact: true }).click();
    await expect.poll(bars).toBe(29);
  });
});

test('the usage of this month in a page that stays open over the end of a month is loaded again', async () => {
  await withTab('#/usage', async ({ page, requests }) => {
    const asked = (since: string) =>
      requests.filter((line) => line.includes(`by=day&since=${since}`)).length;
    await page.clock.setFixedTime(Date.UTC(2028, 1, 29, 23, 59));
    await page.getByText('This month', { exact: true }).click();
    await expect.poll(() => asked('2028-02-01')).toBe(1);
    await page.clock.setFixedTime(Date.UTC(2028, 2, 1, 0, 1));
    await page.getByText('Tokens', { exact: true }).click();
    await expect.poll(() => asked('2028-03-01')).toBe(1);
  });
});

test('the sums of the usage are compared with those of as many days before', async () => {
  await withTab('#/usage', async ({ page }) => {
    const DAY_MS = 86_400_000;
    const [card, range] = [
      page.locator('.card').first(),
      page.getByText('7 days', { exact: true }),
    ];
    for (const [days, change] of [
      [3, 'none in the period before'],
      [7, '-100 % to the period before'],
    ] as const) {
      await page.clock.setFixedTime(Date.now() + days * DAY_MS);
      await page.getByText('30 days', { exact: true }).click();
      await range.click();
      await card.getByText(change).waitFor();
    }
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

test.each(['Chat completions', 'Messages', 'Responses'])(
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
      await page.getByLabel('Prompt', { exact: true }).fill('say the whole sentence');
      await page.getByRole('button', { name: 'Send' }).click();
      await page.locator('.output', { hasText: /^the whole sentence$/ }).waitFor();
      expect(requests.map((line) => line.split(' ')[1]).join()).not.toContain(router().key);
      await page.getByRole('link', { name: 'Open this request' }).click();
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

test('a target is tested with each call from the models page', async () => {
  await withTab('#/models', async ({ page }) => {
    await page.getByRole('button', { name: 'Test aurora/scribe-1 at aurora' }).click();
    const row = page.getByRole('row').filter({ hasText: '[0].targets[0]' });
    for (const call of ['whole', 'streamed', 'tool']) await row.getByText(`${call} `).waitFor();
  });
});
