import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import * as z from 'zod';
import { post } from '../support/local.ts';
import { allLoaded, ask, rowOf, useConsole, violationsOn } from './browser.ts';

const HOSTILE = '<img src=x onerror=alert(1)>"\'=cmd|x';

const { router, withTab } = useConsole({
  prepare: async (started) => {
    await ask(started);
    for (let sent = 0; sent < 2; sent += 1) await ask(started, 'fault status=503');
    const body = { model: 'aurora/scribe-1', messages: [{ role: 'user', content: 'say hi' }] };
    const headers = { 'x-router-user': HOSTILE, 'x-router-session': 'step-1' };
    await (await post(started, '/v1/chat/completions', body, { headers })).text();
    await ask(started, 'say hello', 'mrk_live_wrong');
    await post(started, '/admin/projects', { id: 'hostile', name: HOSTILE });
    await post(started, '/admin/projects/hostile/budget', { max_usd: 1, period: 'day' });
    await post(started, '/admin/projects/hostile/keys', { plan: 'local', name: HOSTILE });
  },
});

test('an incident has what fails, since when, whom it hits and its runbook, and leads to its requests', async () => {
  await withTab('#/incidents', async ({ page }) => {
    const card = page.locator('li.panel', { hasText: 'status 503' }).first();
    await card.getByText('The provider failed.').waitFor();
    for (const fact of ['Since', 'Hits', 'Whom', 'What ends it']) {
      await card.getByText(fact, { exact: true }).waitFor();
    }
    const runbook = card.getByRole('link', { name: 'Runbook: no healthy target' });
    expect(await runbook.getAttribute('href')).toMatch(/^https:.*#no-healthy-target$/);
    expect(await violationsOn(page)).toEqual([]);
    await card.getByRole('link', { name: 'The newest request' }).click();
    await page.getByText('What to do:').waitFor();
    await page.getByRole('link', { name: 'Runbook: no healthy target' }).waitFor();
  });
});

test('every filter of the requests is in the address, and another reader of it sees the same', async () => {
  await withTab('#/requests', async ({ page, context }) => {
    await page.getByText('200 finished').first().waitFor();
    await page.getByText('Failed', { exact: true }).click();
    await page.getByText('7 days', { exact: true }).click();
    await page.getByLabel('Fault').selectOption('provider');
    await page.getByLabel('Filter by').selectOption('model');
    await page.getByLabel('Value of model').fill('aurora/scribe-1');
    await page.getByRole('button', { name: 'Filter', exact: true }).click();
    await allLoaded(page);
    await expect.poll(() => page.url()).toContain('model=aurora');
    const second = await context.newPage();
    await second.goto(page.url());
    await second.getByText('2 requests').waitFor();
    expect(await second.locator('tbody tr').count()).toBe(2);
    expect(await second.getByLabel('Fault').inputValue()).toBe('provider');
    expect(await violationsOn(second)).toEqual([]);
    await second.getByRole('link', { name: /^model aurora/ }).click();
    await expect.poll(() => second.url()).not.toContain('model=');
  });
});

test('requests are filtered by a key, a session and a target, whose values the page offers', async () => {
  await withTab('#/requests', async ({ page }) => {
    for (const [name, count] of [
      ['session', 1],
      ['key', 4],
      ['target', 2],
    ] as const) {
      await page.getByText('5 requests').waitFor();
      await page.getByLabel('Filter by').selectOption(name);
      const offered = page.locator('datalist option').first();
      const value = (await offered.getAttribute('value')) ?? '';
      await page.getByLabel(`Value of ${name}`).fill(value);
      await page.getByRole('button', { name: 'Filter', exact: true }).click();
      const chip = page.getByRole('link', { name: `${name} ${value}` });
      await page
        .getByText(count === 1 ? '1 request' : `${count} requests`, { exact: true })
        .waitFor();
      expect(await page.locator('tbody tr').count()).toBe(count);
      await chip.click();
    }
  });
});

test('a filter in the address that a page does not know is named', async () => {
  for (const hash of ['#/requests?colour=red', '#/requests?status=teapot', '#/plans?status=5xx']) {
    await withTab(hash, async ({ page }) => {
      await page.getByRole('alert').getByText('this page does not know').waitFor();
      expect(await violationsOn(page)).toEqual([]);
    });
  }
});

test('a request whose conversation repeats its last steps is marked in the list and on its page', async () => {
  const call = { name: 'run', arguments: '{"command":"ls"}' };
  const steps = Array.from({ length: 12 }, (_, index) => [
    {
      role: 'assistant',
      content: null,
      tool_calls: [{ id: `call_${index}`, type: 'function', function: call }],
    },
    { role: 'tool', tool_call_id: `call_${index}`, content: 'no such file' },
  ]);
  const messages = [{ role: 'user', content: 'list the files' }, ...steps.flat()];
  const tools = [{ type: 'function', function: { name: 'run', parameters: { type: 'object' } } }];
  const body = { model: 'aurora/scribe-1', messages, tools };
  const headers = { 'x-router-user': 'repeats' };
  const response = await post(router(), '/v1/chat/completions', body, { headers });
  expect([response.status, response.headers.get('x-router-warning')]).toEqual([200, 'loop']);
  await response.text();
  await withTab('#/requests?user=repeats', async ({ page }) => {
    await page.locator('tbody tr', { hasText: 'in a loop' }).waitFor();
    await page.locator('tbody tr').getByRole('link').first().click();
    await page.getByText('repeat each other').waitFor();
    expect(await violationsOn(page)).toEqual([]);
  });
});

test('a request appears in the live list without a reload', async () => {
  await withTab('#/requests?live=on', async ({ page }) => {
    await page.getByText('200 finished').first().waitFor();
    const rows = () => page.locator('tbody tr').count();
    const before = await rows();
    await ask(router());
    await expect.poll(rows).toBe(before + 1);
  });
});

test('a click on a title sorts a table, a second turns it round, and a reader hears the order', async () => {
  await withTab('#/requests', async ({ page }) => {
    await page.getByText('200 finished').first().waitFor();
    const statuses = async () =>
      (await page.locator('tbody .pill').allInnerTexts()).map((one) => one.slice(0, 3));
    const title = page.getByRole('button', { name: 'Status' });
    await title.focus();
    await page.keyboard.press('Enter');
    await page.locator('th[aria-sort=ascending]').waitFor();
    expect(await statuses()).toEqual((await statuses()).toSorted());
    await page.keyboard.press('Enter');
    await page.locator('th[aria-sort=descending]').waitFor();
    expect(await statuses()).toEqual((await statuses()).toSorted().reverse());
    expect(await page.locator('tfoot').innerText()).toMatch(/\d+ requests/);
    const { hash } = new URL(page.url());
    await withTab(hash, async ({ page: other }) => {
      await other.locator('th[aria-sort=descending]', { hasText: 'Status' }).waitFor();
      await other.getByText('Failed', { exact: true }).click();
      await other.locator('th[aria-sort=descending]', { hasText: 'Status' }).waitFor();
      expect(await other.getByRole('alert').count()).toBe(0);
    });
  });
});

test('a table of 500 rows draws 200 at first, and adds up all of them', async () => {
  const users = Array.from({ length: 500 }, (_, index) => ({ user: `u${index}`, charged: 1 }));
  await withTab('#/overview', async ({ page }) => {
    await page.route('**/usage?by=user*', async (route) => {
      // Chromium adds it after the interception.
      const headers = { ...route.request().headers(), 'sec-fetch-site': 'same-origin' };
      const response = await route.fetch({ headers });
      const body = await response.json();
      const [row] = body.data;
      const data = users.map((one) => ({ ...row, ...one }));
      await route.fulfill({ response, json: { ...body, data } });
    });
    await page.evaluate("location.hash = '#/usage?group=user'");
    const rows = page.locator('section[aria-label=Breakdown] tbody tr');
    await expect.poll(() => rows.count()).toBe(200);
    await page.getByRole('button', { name: '300 more' }).click();
    await page.getByRole('button', { name: '100 more' }).click();
    await expect.poll(() => rows.count()).toBe(500);
    expect(await page.getByRole('button', { name: /^\d+ more$/ }).count()).toBe(0);
  });
});

test('hostile names and users are shown as they are, and run nothing', async () => {
  for (const hash of [
    '#/requests',
    '#/keys?project=hostile',
    '#/projects',
    '#/incidents',
    '#/usage?group=user',
    '#/usage?group=key',
    '#/overview',
    '#/budgets',
    '#/members',
    '#/audit',
  ]) {
    await withTab(hash, async ({ page }) => {
      await allLoaded(page);
      expect(await page.locator('main img').count()).toBe(0);
    });
  }
  await withTab(`#/requests?user=${encodeURIComponent(HOSTILE)}`, async ({ page }) => {
    await page.locator('.chip', { hasText: HOSTILE }).waitFor();
    await allLoaded(page);
    expect(await page.locator('main img').count()).toBe(0);
  });
  await withTab('#/projects', async ({ page }) => {
    await page.locator('main strong', { hasText: HOSTILE }).waitFor();
  });
});

test('rotation is not offered for a key that was replaced', async () => {
  const created = await post(router(), '/admin/projects/local/keys', {
    plan: 'local',
    name: 'old one',
  });
  const { id } = z.object({ id: z.string() }).parse(await created.json());
  await post(router(), `/admin/projects/local/keys/${id}/rotate`, { overlap: '24h' });
  await withTab('#/keys?project=local', async ({ page }) => {
    const row = rowOf(page, 'replaced');
    await row.waitFor();
    expect(await row.getByRole('button', { name: /^Rotate/ }).count()).toBe(0);
    await row.getByRole('button', { name: 'Edit old one' }).waitFor();
  });
});

const TOOLS =
  '[{"name":"weather","description":"Weather of a city","parameters":{"type":"object","properties":{"city":{"type":"string"}}}}]';
const PICTURE = new URL('../../docs/pictures/key.webp', import.meta.url);

test.each(['Chat completions', 'Messages', 'Responses'])(
  'the playground sends a system prompt, tools and an image, the result of a call, and a second turn over %s',
  async (api) => {
    await withTab('#/playground', async ({ page }) => {
      page.setDefaultTimeout(15_000);
      router().upstreams.reset();
      await page.getByLabel('API key').fill(router().key);
      await page
        .getByLabel('Model', { exact: true })
        .locator('option')
        .first()
        .waitFor({ state: 'attached' });
      await page.getByText(api, { exact: true }).click();
      await page.getByText('System prompt, parameters, tools, images').click();
      await page.getByLabel('System prompt').fill('Be brief.');
      await page.getByLabel('Temperature').fill('0.5');
      await page.getByLabel('Tools', { exact: true }).fill('[{');
      const button = page.getByRole('button', { name: 'Send' });
      expect(await button.isDisabled()).toBe(true);
      await page.getByLabel('Tools', { exact: true }).fill(TOOLS);
      const send = async (text: string) => {
        await page.locator('textarea').last().fill(text);
        await button.click();
        await page.getByRole('link', { name: 'Open this request' }).last().waitFor();
        await button.waitFor();
      };
      await send('call weather {"city": "Bergen"}');
      await page.getByText('weather({"city').waitFor();
      await send('It rains.');
      const last = () => JSON.stringify(router().upstreams.calls.at(-1)?.body);
      for (const part of ['Be brief.', '0.5', 'Bergen', 'It rains.'])
        expect(last()).toContain(part);
      await page.getByRole('button', { name: 'Start again' }).click();
      await page.getByLabel('Model', { exact: true }).selectOption('cirrus/vista-3');
      const buffer = readFileSync(PICTURE);
      await page
        .getByLabel('Images')
        .setInputFiles({ name: 'a.webp', mimeType: 'image/webp', buffer });
      await page.getByText('1 chosen.').waitFor();
      await send('say one');
      await send('say two');
      const image = buffer.toString('base64').slice(0, 60);
      for (const part of ['say one', 'say two', image]) expect(last()).toContain(part);
      expect(await violationsOn(page)).toEqual([]);
    });
  },
);
