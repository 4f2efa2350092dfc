import type { Page } from 'playwright-core';
import { describe, expect, test } from 'vitest';
import * as z from 'zod';
import { post } from '../support/local.ts';
import { ask, chooseFor, createKey, holdNext, rowOf, takeSecret, useConsole } from './browser.ts';

/* Responses that arrive late or in another order, second clicks, and pages that are left before a response. */

const { router, withTab } = useConsole({ prepare: (started) => ask(started) });

const NewKey = z.object({ id: z.string(), key: z.string() });

/** Creates a key of the local project by the admin API. */
const newKey = async (body: object = {}) => {
  const path = '/admin/projects/local/keys';
  return NewKey.parse(await (await post(router(), path, { plan: 'local', ...body })).json());
};

const open = async (page: Page, title: string): Promise<void> => {
  await page.getByRole('link', { name: title, exact: true }).click();
  await page.getByRole('heading', { name: title, level: 1 }).waitFor();
};

const leave = async (page: Page, title: string): Promise<void> => {
  await page.evaluate('history.back()');
  await page.getByRole('heading', { name: title, level: 1 }).waitFor();
};

/** Requests of a tab to a path. */
const sentTo = (path: string, requests: string[]): string[] =>
  requests.filter((line) => line.startsWith('POST') && line.includes(path));

describe('rows of a list', () => {
  test('a new filter shows no row of the last one, not even until the next frame', async () => {
    await withTab('#/requests', async ({ page }) => {
      await page.getByText('200 finished').waitFor();
      const rows = await page.evaluate(`(async () => {
        const label = [...document.querySelectorAll('label')].find((one) => one.innerText === 'Failed');
        label.click();
        while (!label.classList.contains('is-chosen')) await undefined;
        return document.querySelectorAll('tbody tr').length;
      })()`);
      expect(rows).toBe(0);
    });
  });

  test('a response to an earlier filter that arrives late is ignored', async () => {
    await withTab('#/requests', async ({ page }) => {
      await page.getByText('200 finished').waitFor();
      const { asked, release } = await holdNext(page, /status=5xx/);
      await page.getByText('5xx', { exact: true }).click();
      await asked;
      await page.getByText('All', { exact: true }).click();
      await page.getByText('200 finished').waitFor();
      await release();
      expect(await page.getByText('200 finished').count()).toBe(1);
    });
  });

  test('a key that is created while the list loads is in it', async () => {
    await withTab('#/overview', async ({ page }) => {
      const { asked, release } = await holdNext(page, /projects\/local\/keys\?/);
      await open(page, 'API keys');
      await page.getByRole('button', { name: 'Create key' }).click();
      await asked;
      await page.getByRole('dialog').getByLabel('Name').fill('before the list');
      await page.keyboard.press('Enter');
      // The call of the list ends after 32 seconds.
      await page.getByRole('dialog', { name: 'Save this key now' }).waitFor();
      await release();
      await takeSecret(page);
      await rowOf(page, 'before the list').waitFor();
    });
  });

  test('an address that is cut within a percent sign shows its page', async () => {
    await withTab('#/keys/100%', async ({ page }) => {
      await page.getByRole('heading', { level: 1 }).waitFor();
    });
  });

  test('an address that changes while its page appears is shown', async () => {
    const { id } = await newKey();
    await withTab('#/overview', async ({ page }) => {
      await page.getByRole('heading', { name: 'Overview', level: 1 }).waitFor();
      await page.evaluate(`(async () => {
        location.hash = '#/keys?project=local';
        await new Promise((resolve) => {
          const observer = new MutationObserver(() => {
            if (document.querySelector('h1')?.innerText !== 'API keys') return;
            observer.disconnect();
            resolve();
          });
          observer.observe(document.body, { childList: true, subtree: true, characterData: true });
        });
        location.hash = '#/keys/${id}?project=local';
      })()`);
      await page.getByRole('button', { name: 'Copy the key id' }).waitFor();
    });
  });
});

describe('a search', () => {
  test('a key that Ctrl+K finds after another text was typed changes no page', async () => {
    const { id } = await newKey();
    await withTab('#/overview', async ({ page }) => {
      const dialog = page.getByRole('dialog', { name: 'Go to' });
      await page.getByRole('heading', { name: 'Overview', level: 1 }).waitFor();
      await page.keyboard.press('Control+k');
      await dialog.getByRole('searchbox').fill(id);
      const { asked, release } = await holdNext(page, /keys\/find/);
      await page.keyboard.press('Enter');
      await asked;
      await dialog.getByRole('searchbox').fill('plans');
      await page.keyboard.press('Enter');
      await page.getByRole('heading', { name: 'Plans', level: 1 }).waitFor();
      await release();
      expect(page.url()).toContain('#/plans');
    });
  });

  test('a pasted key that is found after the reader went to another page changes no page', async () => {
    const { key } = await newKey();
    await withTab('#/keys?project=local', async ({ page }) => {
      const { asked, release } = await holdNext(page, /keys\/find/);
      await page.getByRole('searchbox').fill(key);
      await asked;
      await open(page, 'Plans');
      await release();
      expect(page.url()).toContain('#/plans');
    });
  });

  test('a failed search for a pasted key reports its failure', async () => {
    const { key } = await newKey();
    await withTab('#/keys?project=local', async ({ page }) => {
      const json = { error: { message: 'The tables are unavailable.' } };
      await page.route('**/keys/find', (route) => route.fulfill({ status: 503, json }));
      await Promise.all([
        page.getByText('The tables are unavailable.').waitFor(),
        page.getByRole('searchbox').fill(key),
      ]);
      expect(await page.getByText('No key has this secret.').count()).toBe(0);
    });
  });
});

test('a notice that is repeated is shown as long as a new one', async () => {
  await withTab('#/keys?project=local', async ({ page }) => {
    const notice = page.getByText('No key has this secret.');
    const search = async () => {
      await page.getByRole('searchbox').fill('');
      const [found] = await Promise.all([
        page.waitForResponse(/keys\/find/),
        page.getByRole('searchbox').fill(`mrk_live_${'x'.repeat(40)}`),
      ]);
      await found.finished();
      // The page has handled the response when one more has come.
      await page.evaluate('fetch(location.pathname).then((one) => one.text())');
      await notice.waitFor();
      await page.clock.runFor(100);
    };
    await page.getByText('mrk_live_').first().waitFor();
    await page.clock.install();
    await page.clock.pauseAt(Date.now() + 60_000);
    await search();
    await page.clock.runFor(4_000);
    await search();
    await page.clock.runFor(4_000);
    await notice.waitFor();
    await page.clock.runFor(3_000);
    await notice.waitFor({ state: 'detached' });
  });
});

describe('a key of its holder', () => {
  test('the usage of an earlier key that arrives late does not replace that of the later one', async () => {
    const [one, other] = [await newKey(), await newKey()];
    await withTab('#/my-usage', async ({ page }) => {
      const show = async (key: string) => {
        await page.getByLabel('API key').fill(key);
        await page.getByRole('button', { name: 'Show usage' }).click();
      };
      const { asked, release } = await holdNext(page, /v1\/usage/);
      await show(one.key);
      await asked;
      await show(other.key);
      await page.getByText(other.id).waitFor();
      await release();
      expect(await page.getByText(other.id).count()).toBe(1);
    });
  });

  test('the models of an earlier key that arrive late do not replace those of the later one', async () => {
    const [one, other] = [await newKey({ models: ['cirrus/vista-3'] }), await newKey()];
    await withTab('#/playground', async ({ page }) => {
      const options = page.getByLabel('Model', { exact: true }).locator('option');
      const { asked, release } = await holdNext(page, /v1\/models/);
      await page.getByLabel('API key').fill(one.key);
      await asked;
      await page.getByLabel('API key').fill(other.key);
      await expect.poll(() => options.count()).toBeGreaterThan(1);
      await release();
      expect(await options.count()).toBeGreaterThan(1);
    });
  });

  test('a response that streams gets no second request by Enter, and ends with its page', async () => {
    await withTab('#/playground', async ({ page, requests }) => {
      await page.getByLabel('API key').fill(router().key);
      await page.getByLabel('Prompt', { exact: true }).fill('fault stall=3\nsay word word word');
      await page.getByRole('button', { name: 'Send' }).click();
      await page.locator('.output', { hasText: /^word/ }).waitFor();
      await page.getByLabel('API key').press('Enter');
      const [ended] = await Promise.all([page.waitForEvent('requestfailed'), open(page, 'Plans')]);
      expect(ended.url()).toContain('/v1/chat/completions');
      expect(sentTo('/v1/', requests)).toHaveLength(1);
    });
  });
});

describe('a change', () => {
  test('a key that is revoked while a pause settles stays revoked, and another becomes paused', async () => {
    await withTab('#/keys?project=local', async ({ page }) => {
      await page.clock.install();
      for (const name of ['key to end', 'key to stay']) {
        await createKey(page, name);
        await Promise.all([
          rowOf(page, name).getByText('pausing…').waitFor(),
          chooseFor(page, name, 'Pause'),
        ]);
      }
      await chooseFor(page, 'key to end', 'Revoke…');
      const dialog = page.getByRole('dialog');
      await dialog.getByLabel('Type key to end to confirm').fill('key to end');
      await dialog.getByRole('button', { name: 'Revoke now' }).click();
      await rowOf(page, 'key to end').getByText('revoked', { exact: true }).waitFor();
      await page.clock.fastForward(15_500);
      await rowOf(page, 'key to stay').getByText('paused', { exact: true }).waitFor();
      await rowOf(page, 'key to end').getByText('revoked', { exact: true }).waitFor();
    });
  });

  test('a change that fails after its page was left is reported', async () => {
    await withTab('#/overview', async ({ page }) => {
      await open(page, 'Plans');
      await page.getByRole('button', { name: 'Create plan' }).click();
      await page.getByLabel('Id').fill('local');
      const { asked, release } = await holdNext(page, /^POST .*\/plans$/);
      await page.getByRole('dialog').getByRole('button', { name: 'Create plan' }).click();
      await asked;
      await leave(page, 'Overview');
      await Promise.all([page.getByText(/local.* already exists/).waitFor(), release()]);
    });
  });

  test('a new key whose page was left is shown after the key that came before it', async () => {
    await withTab('#/overview', async ({ page }) => {
      const creation = page.getByRole('dialog', { name: 'Create API key' });
      const saving = page.getByRole('dialog', { name: 'Save this key now' });
      const create = async () => {
        await open(page, 'API keys');
        await page.getByRole('button', { name: 'Create key' }).click();
        await creation.getByRole('button', { name: 'Create key' }).click();
      };
      const shown = () => saving.locator('code').first().innerText();
      const { asked, release } = await holdNext(page, /^POST .*\/keys$/);
      await create();
      await asked;
      await leave(page, 'Overview');
      await create();
      const second = await shown();
      await release();
      expect(await shown()).toBe(second);
      await saving.getByLabel('I have saved it').check();
      await saving.getByRole('button', { name: 'Done' }).click();
      await expect.poll(shown).not.toBe(second);
      expect(await saving.getByRole('button', { name: 'Done' }).isDisabled()).toBe(true);
    });
  });

  test('a target is tested once by two clicks, and no further call begins after its page was left', async () => {
    await withTab('#/models', async ({ page, requests }) => {
      const { asked, release } = await holdNext(page, /targets\/test/);
      await page.getByRole('button', { name: 'Test aurora/scribe-1 at aurora' }).dblclick();
      await asked;
      await open(page, 'Plans');
      await release();
      expect(sentTo('targets/test', requests)).toHaveLength(1);
    });
  });
});
