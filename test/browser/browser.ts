import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { setTimeout } from 'node:timers/promises';
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core';
import { afterAll, beforeAll, beforeEach, expect } from 'vitest';
import { type LocalOptions, type LocalRouter, startLocal } from '../../local/start.ts';
import { post } from '../support/local.ts';
import { findChromium } from './find-chromium.ts';

/** A tab of the console, and what crossed its network. */
export type Tab = {
  page: Page;
  context: BrowserContext;
  /** `METHOD path body` of every request. */
  requests: string[];
  /** Bodies of the responses of the console's API. */
  responses: string[];
  /** What the page reported to its console: errors and violations of its policy. */
  errors: string[];
};

export type TabOptions = {
  width?: number;
  isDark?: boolean;
  /** @default the page's */
  origins?: string[];
};

const watch = (context: BrowserContext, page: Page): Tab => {
  const tab: Tab = { page, context, requests: [], responses: [], errors: [] };
  page.on('request', (request) => {
    tab.requests.push(`${request.method()} ${request.url()} ${request.postData() ?? ''}`);
  });
  page.on('response', async (response) => {
    if (response.url().includes('/dashboard/api/')) {
      tab.responses.push(await response.text().catch(() => ''));
    }
  });
  page.on('pageerror', ({ message }) => tab.errors.push(message));
  page.on('console', (message) => {
    // Chromium reports each response of status 400 and above, which tests of failures cause.
    const isStatus = message.text().startsWith('Failed to load resource');
    if (message.type() === 'error' && !isStatus) tab.errors.push(message.text());
  });
  return tab;
};

// Containers often forbid the namespaces of Chromium's sandbox; the tests open only local pages.
export const launchChromium = (args: string[] = []): Promise<Browser> =>
  chromium.launch({ executablePath: findChromium() ?? '', args: ['--no-sandbox', ...args] });

/*
 * For a soak of these tests: each call of the console's API waits for a random time up to so many milliseconds,
 * which changes the order of responses, and the tab's processor is so many times slower.
 */
const maxDelayMs = Number(process.env.CONSOLE_DELAY_MS ?? 0);
const slowness = Number(process.env.CONSOLE_SLOWNESS ?? 1);

const slowDown = async (context: BrowserContext, page: Page): Promise<void> => {
  await context.route('**/dashboard/api/**', async (route) => {
    await setTimeout(Math.random() * maxDelayMs);
    // The test may have closed its tab.
    await route.fallback().catch(() => undefined);
  });
  const session = await context.newCDPSession(page);
  await session.send('Emulation.setCPUThrottlingRate', { rate: slowness });
};

/** Opens a tab for `use`; then the tab must have had no error and no request to an origin that is not listed. */
export const withTabOf = async (
  browser: Browser,
  url: string,
  use: (tab: Tab) => Promise<void>,
  { width = 1360, isDark = false, origins = [new URL(url).origin] }: TabOptions = {},
): Promise<void> => {
  const context = await browser.newContext({
    viewport: { width, height: 820 },
    colorScheme: isDark ? 'dark' : 'light',
    permissions: ['clipboard-read', 'clipboard-write'],
    reducedMotion: 'reduce',
    locale: 'en-GB',
    timezoneId: 'Europe/Berlin',
    ignoreHTTPSErrors: true,
  });
  try {
    context.setDefaultTimeout(60_000);
    const tab = watch(context, await context.newPage());
    if (maxDelayMs > 0 || slowness > 1) await slowDown(context, tab.page);
    await tab.page.goto(url);
    await use(tab);
    expect(tab.errors).toEqual([]);
    const asked = tab.requests.map((line) => new URL(line.split(' ')[1] ?? '').origin);
    expect(origins).toEqual(
      expect.arrayContaining([...new Set(asked)].filter((origin) => origin !== 'null')),
    );
  } finally {
    await context.close();
  }
};

/** Sends a request with the router's key, or another; returns the body of the response. */
export const ask = async (
  router: LocalRouter,
  content = 'say hello',
  key = router.key,
): Promise<string> => {
  const body = { model: 'aurora/scribe-1', messages: [{ role: 'user', content }] };
  return (await post(router, '/v1/chat/completions', body, { key })).text();
};

type ConsoleOptions = {
  /** @default those of the local run */
  readOptions?: () => LocalOptions;
  /** Requests and objects that every test of the file finds. */
  prepare?: (router: LocalRouter) => Promise<unknown>;
};

/** One browser and one router for all tests of a file; every tab is checked and closed after its use. */
export const useConsole = ({
  readOptions = () => ({}),
  prepare = async () => undefined,
}: ConsoleOptions = {}) => {
  let browser: Browser;
  let router: LocalRouter;
  const start = async () => {
    router = await startLocal(readOptions());
    await prepare(router);
  };
  beforeAll(async () => {
    browser = await launchChromium();
    await start();
  });
  beforeEach(async ({ task }) => {
    // The first attempt has created what the second one would create again.
    if (!task.result?.retryCount) return;
    await router.close();
    await start();
  });
  afterAll(async () => {
    await browser?.close();
    await router?.close();
  });

  /** Opens a page of the console, such as `#/keys`. */
  const withTab = (hash: string, use: (tab: Tab) => Promise<void>, tabOptions: TabOptions = {}) =>
    withTabOf(browser, `${router.baseUrl}/dashboard${hash}`, use, tabOptions);
  return { router: () => router, withTab };
};

const require = createRequire(import.meta.url);
const axe = readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8');

/** Waits until each panel of the page shows its value or its failure: a read before that sees half a page. */
export const allLoaded = (page: Page): Promise<void> =>
  expect.poll(() => page.locator('.skeleton').count()).toBe(0);

export type Held = {
  /** The call has been made, and its response is that of this time. */
  asked: Promise<void>;
  /** Lets the response through, and waits until the page has drawn what it made of it. */
  release: () => Promise<void>;
};

/** Holds the response of the next call whose `METHOD address` matches. */
export const holdNext = async (page: Page, call: RegExp): Promise<Held> => {
  const asked = Promise.withResolvers<void>();
  const released = Promise.withResolvers<void>();
  const ended = Promise.withResolvers<void>();
  let isHeld = false;
  await page.route('**', async (route) => {
    const request = route.request();
    if (isHeld || !call.test(`${request.method()} ${request.url()}`)) return route.fallback();
    isHeld = true;
    // Chromium adds it after the interception.
    const headers = { ...request.headers(), 'sec-fetch-site': 'same-origin' };
    // The test may have closed its tab.
    const response = await route.fetch({ headers }).catch(() => undefined);
    asked.resolve();
    if (!response) return undefined;
    await released.promise;
    await route.fulfill({ response });
    await (await request.response())?.finished();
    ended.resolve();
  });
  return {
    asked: asked.promise,
    release: async () => {
      released.resolve();
      await ended.promise;
      await page.evaluate(
        'new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)))',
      );
    },
  };
};

/** Rules that the page violates, with the elements. */
export const violationsOn = async (page: Page): Promise<string[]> => {
  await allLoaded(page);
  if (await page.evaluate('typeof axe === "undefined"')) await page.evaluate(axe);
  return page.evaluate(
    'axe.run({ resultTypes: ["violations"] }).then(({ violations }) => violations.map(({ id, nodes }) => id + ": " + nodes.map(({ html }) => html)))',
  );
};

export const overflowOf = (page: Page): Promise<number> =>
  page.evaluate(
    `Math.max(...[document.documentElement, ...document.querySelectorAll('.panel.scroll')]
      .map(({ scrollWidth, clientWidth }) => scrollWidth - clientWidth))`,
  );

export const rowOf = (page: Page, name: string) => page.getByRole('row').filter({ hasText: name });

/** Chooses an item of a row's menu. */
export const chooseFor = async (page: Page, name: string, item: string): Promise<void> => {
  await page.getByRole('button', { name: `More actions for ${name}` }).click();
  await page.getByRole('menuitem', { name: item }).click();
};

/** Confirms that the key of the dialog is saved, closes it, and returns the key. */
export const takeSecret = async (page: Page): Promise<string> => {
  const dialog = page.getByRole('dialog', { name: 'Save this key now' });
  const secret = await dialog.locator('code').first().innerText();
  await dialog.getByLabel('I have saved it').check();
  await dialog.getByRole('button', { name: 'Done' }).click();
  await dialog.waitFor({ state: 'detached' });
  return secret;
};

/** Creates a key in the page of the keys, and returns it. */
export const createKey = async (page: Page, name: string): Promise<string> => {
  // An empty project offers it a second time.
  await page.getByRole('button', { name: 'Create key' }).first().click();
  const dialog = page.getByRole('dialog', { name: 'Create API key' });
  await dialog.getByLabel('Name').fill(name);
  await dialog.getByRole('button', { name: 'Create key' }).click();
  return takeSecret(page);
};
