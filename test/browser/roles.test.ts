import type { Page } from 'playwright-core';
import { beforeAll, expect, test } from 'vitest';
import { allLoaded } from './browser.ts';
import { signInAs, useDeployedConsole } from './deployed.ts';

const { deployment, withTab, newUser } = useDeployedConsole();

beforeAll(async () => {
  const { post } = deployment().admin;
  await post('/admin/plans', { id: 'small', rpm: 9, quota: 9, period: 'day' });
  for (const id of ['shop', 'other']) {
    await post('/admin/projects', { id });
    await post(`/admin/projects/${id}/keys`, { plan: 'small', name: `${id} key` });
  }
});

type Setup = { page: Page; call: (path: string, body?: object) => Promise<[number, string]> };

/** Signs in as a user in these groups; `call` sends what the page could, with its token. */
const as = (groups: string[], hash: string, use: (setup: Setup) => Promise<void>): Promise<void> =>
  withTab(hash, async ({ page }) => {
    const [authorized] = await Promise.all([
      page.waitForRequest(/\/dashboard\/api\//),
      signInAs(page, newUser(...groups)),
    ]);
    const token = authorized.headers().authorization ?? '';
    const call: Setup['call'] = (path, body) =>
      page.evaluate(
        async ([url, authorization, text]) => {
          const init = text ? { method: 'POST', body: text } : {};
          const headers = { authorization, 'content-type': 'application/json' };
          const response = await fetch(url, { ...init, headers });
          return [response.status, await response.text()] as [number, string];
        },
        [
          `${deployment().baseUrl}/dashboard/api/${path}`,
          token,
          body ? JSON.stringify(body) : '',
        ] as const,
      );
    await use({ page, call });
  });

const link = (page: Page, name: string) => page.getByRole('link', { name, exact: true });

/** Shows a page by its link in the navigation, and returns the names of its buttons. */
const buttonsOn = async (page: Page, title: string): Promise<string> => {
  await link(page, title).click();
  await page.getByRole('heading', { name: title, level: 1 }).waitFor();
  await allLoaded(page);
  // Those of a head sort its table.
  return (await page.locator('main button:not(.sort)').allInnerTexts()).join();
};

test('a viewer sees every page and project, and no button that changes something', async () => {
  await as(['viewer'], '#/keys?project=shop', async ({ page, call }) => {
    await page.getByText('shop key').waitFor();
    const changes = /\b(?:Create|Rotate|Edit|Delete|Invite|Test|Revoke|Pause)\b/;
    for (const title of ['API keys', 'Plans', 'Projects', 'Models']) {
      expect(await buttonsOn(page, title)).not.toMatch(changes);
    }
    for (const path of ['projects/shop/keys', 'plans', 'projects', 'targets/test']) {
      const [status, text] = await call(path, { id: 'x' });
      expect({ path, status, text }).toMatchObject({
        status: 403,
        text: expect.stringMatching(/"message":"Only operators [^"]+Ask /),
      });
    }
  });
});

test('a member manages the keys of its project, and no other page has a button for it', async () => {
  await as(['project:shop'], '#/keys?project=shop', async ({ page, call }) => {
    await page.getByText('shop key').waitFor();
    const projects = page.getByLabel('Project').locator('option');
    await expect.poll(() => projects.allInnerTexts()).toEqual(['shop']);
    await page.getByRole('button', { name: 'More actions for shop key' }).click();
    await expect
      .poll(() => page.getByRole('menuitem').allInnerTexts())
      .toEqual(['Edit…', 'Pause', 'Its requests', 'Revoke…']);
    await page.keyboard.press('Escape');
    await page.getByRole('button', { name: 'Create key' }).click();
    await page.getByLabel('Name').fill('by a member');
    await page.getByRole('dialog').getByRole('button', { name: 'Create key' }).click();
    await page.getByRole('dialog', { name: 'Save this key now' }).waitFor();
    await page.getByLabel('I have saved it').check();
    await page.getByRole('button', { name: 'Done' }).click();
    for (const title of ['Plans', 'Projects']) expect(await buttonsOn(page, title)).toBe('');
    for (const title of ['Models', 'Members']) expect(await link(page, title).count()).toBe(0);
    expect((await call('plans', { id: 'x' }))[0]).toBe(403);
    expect((await call('projects', { id: 'x' }))[0]).toBe(403);
  });
});

test('a member who types the address of another project sees that it was not found, and nothing of it', async () => {
  await as(['project:shop'], '#/keys?project=other', async ({ page, call }) => {
    await page.getByText("Project 'other' not found.").first().waitFor();
    expect(await page.getByRole('main').innerText()).not.toContain('other key');
    expect(await page.getByRole('button', { name: 'Create key' }).count()).toBe(0);
    for (const hash of [
      '#/usage?project=other',
      '#/requests?project=other',
      '#/audit?project=other',
    ]) {
      await page.goto(`${deployment().baseUrl}/dashboard${hash}`);
      await page.getByText("Project 'other' not found.").first().waitFor();
    }
    const paths = ['projects/other/keys', 'projects/other/usage', 'usage?project=other'];
    for (const path of paths) expect((await call(path))[0]).toBe(404);
    expect((await call('projects/other/keys', { plan: 'small' }))[0]).toBe(404);
  });
});

test('a member who types the address of a page for operators and viewers learns whom to ask', async () => {
  await as(['project:shop'], '#/models', async ({ page }) => {
    await page.getByText('Only operators and viewers may see this. Ask an operator.').waitFor();
    expect(await page.getByRole('button', { name: 'Test all' }).count()).toBe(0);
  });
});

test('an operator has the buttons of every page', async () => {
  await as(['operator'], '#/keys?project=other', async ({ page }) => {
    await page.getByText('other key').waitFor();
    expect(await buttonsOn(page, 'API keys')).toMatch(/Create key.*Rotate/);
    expect(await buttonsOn(page, 'Plans')).toMatch(/Create plan.*Edit/);
    expect(await buttonsOn(page, 'Projects')).toMatch(/Create project.*Edit/);
    expect(await buttonsOn(page, 'Models')).toMatch(/Test all.*Test/);
    expect(await link(page, 'Members').count()).toBe(1);
  });
});
