import { expect, test } from 'vitest';
import { ask, useConsole } from './browser.ts';

const { withTab } = useConsole({ prepare: (started) => ask(started) });

const MAX_BYTES = 60_000;
/** Of a page that was loaded. */
const MIN_BYTES = 30_000;

test('the first view has at most 4 requests, which send at most 60 KB with their heads', async () => {
  await withTab('#/overview', async ({ page, requests }) => {
    await page.getByText('Charged requests').first().waitFor();
    await page.waitForLoadState('networkidle');
    const urls = requests
      .map((line) => line.split(' ')[1] ?? '')
      .filter((url) => !url.startsWith('data:'));
    expect(urls.map((url) => new URL(url).pathname.replace(/\.\w+(?=\.)/, ''))).toEqual([
      '/dashboard',
      '/dashboard/app.css',
      '/dashboard/app.js',
      '/dashboard/api/overview',
    ]);
    const sent = await page.evaluate<number>(
      `[...performance.getEntriesByType('navigation'), ...performance.getEntriesByType('resource')]
        .reduce((sum, { transferSize }) => sum + transferSize, 0)`,
    );
    expect(sent).toBeGreaterThan(MIN_BYTES);
    expect(sent).toBeLessThan(MAX_BYTES);
  });
});
