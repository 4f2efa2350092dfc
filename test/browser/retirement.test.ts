import { expect, test } from 'vitest';
import models from '../../lambdas/catalog/models.json' with { type: 'json' };
import { parseModels } from '../../lambdas/catalog/parse-models.ts';
import { DAY_MS, dayOf } from '../../lambdas/support/clock.ts';
import { ask, rowOf, useConsole, violationsOn } from './browser.ts';

const retires = dayOf(Date.now() + 40 * DAY_MS);

const { router, withTab } = useConsole({
  readOptions: () => {
    const [first, second, ...others] = parseModels(models);
    if (!first || !second) throw new Error('The shipped catalog has fewer than two models.');
    return { catalog: [{ ...first, retires, successor: second.id }, second, ...others] };
  },
});

test('the models have when one retires, its successor, and how many keys still use it by the history', async () => {
  await withTab('#/models', async ({ page }) => {
    const [first, second] = models.map(({ id }) => id);
    const row = rowOf(page, '[0].targets[0]');
    await row.getByText(`retires ${retires}, then ${second} · 0 keys used it in 7 days`).waitFor();
    expect(await page.getByText(`retires ${retires}`).count()).toBe(models[0]?.targets.length);

    // Three requests of two keys.
    const keys = [await router().createKey(), await router().createKey()];
    expect(first).toBe('aurora/scribe-1');
    for (const key of [...keys, keys[0]]) await ask(router(), 'say hello', key);
    await page.reload();
    await row.getByText('2 keys used it in 7 days').waitFor();
    expect(await violationsOn(page)).toEqual([]);
  });
});
