import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { type Browser, type CDPSession, chromium, type Page } from 'playwright-core';
import type { LocalRouter } from '../../local/start.ts';
import { findChromium } from '../../test/browser/find-chromium.ts';
import { quantile } from '../median.ts';

const ROUNDS = Number(process.env.BENCH_ROUNDS ?? 5);

/** The views of the console, with the text that each shows once its data is there. */
const VIEWS = {
  '#/overview': 'Charged requests',
  '#/incidents': 'Incidents',
  '#/budgets': 'Budgets',
  '#/usage': 'From a cache',
  '#/usage?group=key': 'From a cache',
  '#/requests': '200 finished',
  '#/requests?status=5xx': '503',
  '#/models': '[0].targets[0]',
  '#/playground': 'Models of the key appear here.',
  '#/my-usage': 'The key stays in this page',
  '#/keys?project=local': 'Used this period',
  '#/plans': '100,000 a month',
  '#/projects': 'A project owns keys',
  '#/members': 'Members',
  '#/audit': 'Audit',
};

/** Resolves in the frame in which the page shows the text and no place holder. */
const SHOWN = `(text) => new Promise((resolve) => {
  const look = () =>
    document.querySelector('.skeleton') === null && document.body.innerText.includes(text)
      ? resolve(performance.now())
      : requestAnimationFrame(look);
  look();
})`;

type Opened = { page: Page; session: CDPSession };

const shownAt = (page: Page, text: string): Promise<number> =>
  page.evaluate(`(${SHOWN})(${JSON.stringify(text)})`);

/** Milliseconds since the page's navigation began, its requests, and their bytes as they were sent. */
const openFirst = async (browser: Browser, url: string, text: string) => {
  const context = await browser.newContext({ reducedMotion: 'reduce' });
  try {
    const page = await context.newPage();
    const session = await context.newCDPSession(page);
    await session.send('Network.enable');
    const sent = { requests: 0, bytes: 0 };
    // An image of a style is a data: URL, which crosses no network.
    const ofStyles = new Set<string>();
    session.on('Network.requestWillBeSent', ({ requestId, request }) => {
      if (request.url.startsWith('data:')) ofStyles.add(requestId);
    });
    session.on('Network.loadingFinished', ({ requestId, encodedDataLength }) => {
      if (ofStyles.has(requestId)) return;
      sent.requests += 1;
      sent.bytes += encodedDataLength;
    });
    await page.goto(url);
    const ms = await shownAt(page, text);
    return { ms, ...sent };
  } finally {
    await context.close();
  }
};

/** Milliseconds of CPU that the thread of a page has used. */
const cpuOfPage = async (session: CDPSession): Promise<number> => {
  const { metrics } = await session.send('Performance.getMetrics');
  return 1_000 * (metrics.find(({ name }) => name === 'TaskDuration')?.value ?? Number.NaN);
};

/** Milliseconds from a change of the address in an open page, and the CPU of this process with the router and of the page. */
const openNext = async ({ page, session }: Opened, hash: string, text: string) => {
  await page.evaluate(`location.hash = '#/plans'`);
  await shownAt(page, 'a month');
  await page.waitForLoadState('networkidle');
  const [before, used] = [await cpuOfPage(session), process.cpuUsage()];
  const start = await page.evaluate<number>(
    `new Promise((resolve) => { location.hash = ${JSON.stringify(hash)}; const at = performance.now(); requestAnimationFrame(() => resolve(at)); })`,
  );
  const ms = (await shownAt(page, text)) - start;
  const { user, system } = process.cpuUsage(used);
  return { ms, router: (user + system) / 1_000, page: (await cpuOfPage(session)) - before };
};

/** Until all records are counted. */
const whenFolded = async (router: LocalRouter, records: number): Promise<void> => {
  for (;;) {
    const response = await fetch(`${router.baseUrl}/admin/usage?by=project`);
    const { total } = (await response.json()) as { total: { charged: number } };
    if (total.charged >= records * 0.9) return;
    await pause(1_000);
  }
};

/** Prints what each view of the console takes in Chromium; `pictures` is a folder for a picture of each. */
export const viewsOf = async (router: LocalRouter, records: number, pictures?: string) => {
  await whenFolded(router, records);
  const executablePath = findChromium();
  if (executablePath === undefined) throw new Error('No Chromium on PATH: set CHROMIUM.');
  const browser = await chromium.launch({ executablePath, args: ['--no-sandbox'] });
  const page = await browser.newPage({ reducedMotion: 'reduce' });
  const errors: string[] = [];
  page.on('pageerror', ({ message }) => errors.push(message));
  await page.goto(`${router.baseUrl}/dashboard#/plans`);
  const session = await page.context().newCDPSession(page);
  await session.send('Performance.enable', { timeDomain: 'threadTicks' });
  console.log(
    '| View | first, median ms | longest | requests | KB | from another view, median ms | longest | CPU of the router | of the page |\n|---|---|---|---|---|---|---|---|---|',
  );
  for (const [hash, text] of Object.entries(VIEWS)) {
    const first: Awaited<ReturnType<typeof openFirst>>[] = [];
    const next: Awaited<ReturnType<typeof openNext>>[] = [];
    for (let round = 0; round < ROUNDS; round += 1) {
      first.push(await openFirst(browser, `${router.baseUrl}/dashboard${hash}`, text));
      if (hash !== '#/plans') next.push(await openNext({ page, session }, hash, text));
    }
    if (pictures !== undefined) {
      mkdirSync(pictures, { recursive: true });
      const name = hash.replaceAll(/\W+/g, '-').slice(1);
      await page.screenshot({ path: join(pictures, `${name}.png`) });
    }
    const times = first.map(({ ms }) => ms);
    const { requests = 0, bytes = 0 } = first.at(-1) ?? {};
    const cells = [quantile(times, 0.5), quantile(times, 1), requests, (bytes / 1_000).toFixed(0)];
    const medians = (['ms', 'router', 'page'] as const).map((name) =>
      quantile(
        next.map((one) => one[name]),
        0.5,
      ),
    );
    const [median, ...cpu] = medians;
    const longest = Math.max(...next.map(({ ms }) => ms));
    const later = next.length > 0 ? [median, Math.round(longest), ...cpu] : ['–', '–', '–', '–'];
    console.log(`| ${hash} | ${[...cells, ...later].join(' | ')} |`);
  }
  await browser.close();
  if (errors.length > 0) throw new Error(errors.join('\n'));
};
