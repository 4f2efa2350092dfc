import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll } from 'vitest';
import { synthTemplate } from '../lib/synth.ts';
import { type Deployment, startDeployment } from '../support/deployment/start-deployment.ts';
import type { PoolUser } from '../support/deployment/user-pool.ts';
import { launchChromium, type Tab, withTabOf } from './browser.ts';

/** One deployed stack and one browser that finds it under its names, for all tests of a file. */
export const useDeployedConsole = () => {
  let browser: Browser;
  let deployment: Deployment;
  beforeAll(async () => {
    deployment = await startDeployment(synthTemplate({ functionUrl: 'off' }));
    const hosts = [new URL(deployment.baseUrl).host, deployment.signIn.domain];
    const rules = hosts.map((host) => `MAP ${host} 127.0.0.1:${deployment.port}`);
    browser = await launchChromium([`--host-resolver-rules=${rules.join(',')}`]);
  });
  afterAll(async () => {
    await browser?.close();
    await deployment?.close();
  });

  /** Opens a page of the console; the tab may ask its origin and the login's. */
  const withTab = (hash: string, use: (tab: Tab) => Promise<void>): Promise<void> =>
    withTabOf(browser, `${deployment.baseUrl}/dashboard${hash}`, use, {
      origins: [new URL(deployment.baseUrl).origin, `https://${deployment.signIn.domain}`],
    });

  /** A new user of the pool, in these groups. */
  const newUser = (...groups: string[]): PoolUser =>
    deployment.pool.addUser({
      email: `${groups.join('-').replace(':', '-')}@example.com`,
      password: 'Correct-horse-9',
      groups,
    });

  return { deployment: () => deployment, withTab, newUser };
};

/** Signs in at the managed login, where the page has sent the browser. */
export const signInAs = async (page: Page, { email, password }: PoolUser): Promise<void> => {
  await page.getByLabel('E-mail').fill(email);
  await page.getByLabel('Password').fill(password);
  await page.getByRole('button', { name: 'Continue' }).click();
  await page.waitForURL(({ host, search }) => host.includes('execute-api') && search === '');
};
