import { gzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { ask, useConsole } from './browser.ts';

const { router, withTab } = useConsole({ prepare: (started) => ask(started) });

const MAX_BYTES = 60_000;

test('the first view has at most 4 requests, whose bodies are at most 60 KB as gzip', async () => {
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
    const bodies = await Promise.all(
      urls.slice(0, 3).map(async (url) => Buffer.from(await (await fetch(url)).arrayBuffer())),
    );
    const overview = await (await fetch(`${router().baseUrl}/admin/overview`)).text();
    const sizes = [...bodies, overview].map((body) => gzipSync(body).length);
    expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThan(MAX_BYTES);
  });
});
