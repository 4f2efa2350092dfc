import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { chromium, type Page } from 'playwright-core';
import { NOW, startDemo } from './demo.ts';
import { findChromium } from './find-chromium.ts';

/*
 * npm run pictures: draws docs/pictures/ from a router with a month of requests. `--all FOLDER` draws every
 * page, or that of `--page`, at three widths in both themes instead, to be looked at.
 */
const PAGES: Record<string, { hash: string; text: string }> = {
  overview: { hash: '#/overview', text: 'Charged requests' },
  incidents: { hash: '#/incidents', text: 'Incidents' },
  budgets: { hash: '#/budgets', text: 'Budgets' },
  usage: { hash: '#/usage', text: 'From a cache' },
  requests: { hash: '#/requests', text: '200 finished' },
  models: { hash: '#/models', text: '[0].targets[0]' },
  playground: { hash: '#/playground', text: 'Models of the key appear here.' },
  'my-usage': { hash: '#/my-usage', text: 'The key stays in this page' },
  keys: { hash: '#/keys?project=checkout', text: 'nightly-evals' },
  plans: { hash: '#/plans', text: '50,000 a month' },
  projects: { hash: '#/projects', text: 'A project owns keys' },
  members: { hash: '#/members', text: 'olga@acme.example' },
  audit: { hash: '#/audit', text: 'projects.create' },
};

/** A WebP picture, which Playwright itself does not write. */
const save = async (page: Page, path: string): Promise<void> => {
  const session = await page.context().newCDPSession(page);
  const { data } = await session.send('Page.captureScreenshot', { format: 'webp', quality: 80 });
  writeFileSync(path, Buffer.from(data, 'base64'));
};

const saveSecret = async (page: Page, path: string): Promise<void> => {
  await page.getByRole('button', { name: 'Create key' }).click();
  const dialog = page.getByRole('dialog', { name: 'Create API key' });
  await dialog.getByLabel('Name').fill('mobile-app, prod');
  await dialog.getByLabel('Plan').selectOption('large');
  await dialog.getByRole('button', { name: 'Create key' }).click();
  await page.getByRole('tab', { name: 'curl' }).waitFor();
  await save(page, path);
};

const { values } = parseArgs({ options: { all: { type: 'string' }, page: { type: 'string' } } });
const executablePath = findChromium();
if (executablePath === undefined) throw new Error('No Chromium on PATH: set CHROMIUM to its path.');
const router = await startDemo();
const browser = await chromium.launch({ executablePath, args: ['--no-sandbox'] });

/** A page of the console at the time of the demo. */
const open = async (name: string, width: number, colorScheme: 'light' | 'dark') => {
  const context = await browser.newContext({
    viewport: { width, height: 800 },
    colorScheme,
    reducedMotion: 'reduce',
    locale: 'en-GB',
    timezoneId: 'Europe/Berlin',
  });
  const page = await context.newPage();
  await page.clock.setFixedTime(NOW);
  const { hash, text } = PAGES[name] ?? { hash: '', text: '' };
  await page.goto(`${router.baseUrl}/dashboard${hash}`);
  await page.getByText(text).first().waitFor({ timeout: 30_000 });
  await page.waitForLoadState('networkidle');
  return page;
};

const drawDocs = async (folder: string) => {
  for (const name of ['overview', 'incidents', 'usage', 'keys', 'members']) {
    const page = await open(name, 1280, 'light');
    await save(page, join(folder, `${name}.webp`));
    if (name === 'keys') {
      await page.getByRole('link', { name: 'checkout-service, prod' }).click();
      await page.locator('.chart').waitFor();
      await page.waitForLoadState('networkidle');
      await save(page, join(folder, 'key.webp'));
      await page.goBack();
      await saveSecret(page, join(folder, 'new-key.webp'));
    }
    await page.context().close();
  }
  const page = await open('requests', 1280, 'dark');
  await page.getByText('Failed', { exact: true }).click();
  await page.getByRole('link', { name: /^req_/ }).first().click();
  await page.getByText('What to do:').waitFor();
  await save(page, join(folder, 'request.webp'));
};

const drawAll = async (folder: string) => {
  const names = values.page ? [values.page] : Object.keys(PAGES);
  for (const name of names) {
    for (const width of [1360, 768, 390]) {
      const page = await open(name, width, 'light');
      for (const colorScheme of ['light', 'dark'] as const) {
        await page.emulateMedia({ colorScheme });
        const path = join(folder, `${name}-${width}-${colorScheme}.png`);
        await page.screenshot({ path, fullPage: true });
      }
      await page.context().close();
    }
  }
};

const folder = values.all ?? 'docs/pictures';
mkdirSync(folder, { recursive: true });
try {
  await (values.all === undefined ? drawDocs(folder) : drawAll(folder));
} finally {
  await browser.close();
  await router.close();
}
