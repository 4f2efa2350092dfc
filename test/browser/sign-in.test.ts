import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import * as z from 'zod';
import type { Tab } from './browser.ts';
import { signInAs, useDeployedConsole } from './deployed.ts';

const { deployment, withTab, newUser } = useDeployedConsole();

const MINUTE_MS = 60_000;

/** Moves the time of the pool, of the authorizer and of the pages. */
const pass = async (minutes: number, pages: Page[]): Promise<void> => {
  deployment().clock.advance(minutes * MINUTE_MS);
  for (const page of pages) {
    const now: number = await page.evaluate('Date.now()');
    await page.clock.setSystemTime(now + minutes * MINUTE_MS);
  }
};

const heading = (page: Page, name: string) => page.getByRole('heading', { name, level: 1 });

/** Requests to an endpoint of the pool. */
const sentTo = (path: string, { requests }: Tab): string[] =>
  requests.filter((line) => line.includes(`amazoncognito.com/${path}`));

/** Each address that the tab may go back to. */
const historyOf = async ({ context, page }: Tab): Promise<string> => {
  const session = await context.newCDPSession(page);
  const { entries } = await session.send('Page.getNavigationHistory');
  return entries.map(({ url }) => url).join(' ');
};

test('the first visit leads through the login back to the page that was asked for', async () => {
  const user = newUser('operator');
  await withTab('#/plans?project=first', async ({ page }) => {
    await page.getByLabel('E-mail').fill(user.email);
    await page.getByLabel('Password').fill('wrong');
    await page.getByRole('button', { name: 'Continue' }).click();
    await page.getByText('Incorrect username or password.').waitFor();
    await signInAs(page, user);
    await heading(page, 'Plans').waitFor();
    expect(page.url()).toBe(`${deployment().baseUrl}/dashboard#/plans?project=first`);
    await page.getByText(user.email).waitFor();
  });
});

const Tokens = z.object({
  id_token: z.string(),
  access_token: z.string(),
  refresh_token: z.string(),
});

test('after the sign-in the tokens, the code and the verifier are nowhere but in memory', async () => {
  const user = newUser('operator');
  await withTab('#/keys?project=local', async (tab) => {
    const { page, context } = tab;
    const [answered] = await Promise.all([
      page.waitForResponse(/oauth2\/token/),
      signInAs(page, user),
    ]);
    await page.getByText('mrk_live_').first().waitFor();
    const tokens = Tokens.parse(await answered.json());
    const [exchange = ''] = sentTo('oauth2/token', tab);
    const { code = '', code_verifier = '' } = Object.fromEntries(
      new URLSearchParams(exchange.split(' ')[2]),
    );
    const secrets = [...Object.values(tokens), code, code_verifier];
    const places = [
      await page.evaluate(
        '[document.documentElement.outerHTML, JSON.stringify({...localStorage, ...sessionStorage}), document.cookie, JSON.stringify(history.state), name].join()',
      ),
      await historyOf(tab),
      JSON.stringify(await context.storageState()),
    ].join();
    for (const secret of secrets) {
      expect(secret.length).toBeGreaterThan(30);
      expect(places).not.toContain(secret);
    }
    const { cookies } = await context.storageState();
    expect(cookies.map(({ domain }) => domain)).toEqual([deployment().signIn.domain]);
  });
});

test('a reload within an hour signs in without a form, and later with one', async () => {
  const user = newUser('operator');
  await withTab('#/projects', async (tab) => {
    const { page } = tab;
    await signInAs(page, user);
    await heading(page, 'Projects').waitFor();
    const shown = sentTo('login', tab).length;
    await page.reload();
    await heading(page, 'Projects').waitFor();
    expect(sentTo('login', tab)).toHaveLength(shown);
    await pass(61, []);
    await page.reload();
    await signInAs(page, user);
    await heading(page, 'Projects').waitFor();
  });
});

test('a second tab signs in without a form, and shows the page of its address', async () => {
  const user = newUser('operator');
  await withTab('#/plans', async (tab) => {
    await signInAs(tab.page, user);
    const second = await tab.context.newPage();
    await second.goto(`${deployment().baseUrl}/dashboard#/audit`);
    await heading(second, 'Audit').waitFor();
    expect(second.url()).toBe(`${deployment().baseUrl}/dashboard#/audit`);
  });
});

test('an ID token near its end is renewed once for all calls of a page', async () => {
  const user = newUser('operator');
  await withTab('#/plans', async (tab) => {
    const { page } = tab;
    await signInAs(page, user);
    await heading(page, 'Plans').waitFor();
    await pass(14.5, [page]);
    await page.getByRole('link', { name: 'Overview' }).click();
    await page.getByText('No key has used half of its quota.').waitFor();
    await page.getByRole('link', { name: 'Audit' }).click();
    await heading(page, 'Audit').waitFor();
    const renewals = sentTo('oauth2/token', tab).filter((line) => line.includes('refresh_token'));
    expect(renewals).toHaveLength(1);
  });
});

/** Opens the dialog of a new key and types its name. */
const typeKeyName = async (page: Page, name: string) => {
  await page.getByRole('button', { name: 'Create key' }).click();
  const dialog = page.getByRole('dialog', { name: 'Create API key' });
  await dialog.getByLabel('Name').fill(name);
  return dialog;
};

test('a sign-in that is over keeps the typed form, which is sent after a sign-in in a new tab', async () => {
  const user = newUser('operator');
  await withTab('#/keys?project=local', async ({ page, context }) => {
    await signInAs(page, user);
    const form = await typeKeyName(page, 'typed before');
    await pass(12 * 60 + 1, [page]);
    await form.getByRole('button', { name: 'Create key' }).click();
    const ended = page.getByRole('dialog', { name: 'You were signed out' });
    const [opened] = await Promise.all([
      context.waitForEvent('page'),
      ended.getByRole('link', { name: 'Sign in again' }).click(),
    ]);
    await signInAs(opened, user);
    await ended.waitFor({ state: 'detached' });
    expect(await form.getByLabel('Name').inputValue()).toBe('typed before');
    await form.getByRole('button', { name: 'Create key' }).click();
    await page.getByRole('dialog', { name: 'Save this key now' }).waitFor();
  });
});

test('a user whom an operator removed is at the sign-in when the token ends', async () => {
  const user = newUser('viewer');
  await withTab('#/plans', async ({ page }) => {
    await signInAs(page, user);
    await heading(page, 'Plans').waitFor();
    deployment().pool.removeUser(user.email);
    await pass(15, [page]);
    await page.getByRole('link', { name: 'Audit' }).click();
    await page.getByLabel('E-mail').waitFor();
  });
});

test('without a network a renewal fails as any call, and the page stays signed in', async () => {
  const user = newUser('operator');
  await withTab('#/plans', async ({ page, context }) => {
    await signInAs(page, user);
    await heading(page, 'Plans').waitFor();
    await pass(15, [page]);
    await context.setOffline(true);
    await page.getByRole('link', { name: 'Audit' }).click();
    await page.getByText(`No answer from https://${deployment().signIn.domain}.`).waitFor();
    expect(await page.getByRole('dialog').count()).toBe(0);
    await context.setOffline(false);
    await page.getByRole('button', { name: 'Try again' }).click();
    await page.getByText('keys.create').first().waitFor();
  });
});

test('signing out ends the session of the pool, and every other tab', async () => {
  const user = newUser('operator');
  await withTab('#/plans', async (tab) => {
    const { page, context } = tab;
    await signInAs(page, user);
    const second = await context.newPage();
    await second.goto(`${deployment().baseUrl}/dashboard#/audit`);
    await heading(second, 'Audit').waitFor();
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByRole('button', { name: 'Sign in' }).waitFor();
    await second.getByRole('dialog', { name: 'You were signed out' }).waitFor();
    expect(sentTo('oauth2/revoke', tab)).toHaveLength(1);
    await page.reload();
    await page.getByRole('button', { name: 'Sign in' }).click();
    await signInAs(page, user);
  });
});

test.each([
  ['a state of another sign-in', 'code=11111111-2222-3333-4444-555555555555&state=forged'],
  ['no state', 'code=11111111-2222-3333-4444-555555555555'],
])('a return from the login with %s is rejected, and its code is not sent', async (_, query) => {
  await withTab('', async (tab) => {
    const { page } = tab;
    await page.getByLabel('E-mail').waitFor();
    await page.goto(`${deployment().baseUrl}/dashboard?${query}`);
    await page.getByText('The sign-in was not started in this tab. Sign in again.').waitFor();
    expect(page.url()).toBe(`${deployment().baseUrl}/dashboard`);
    expect(sentTo('oauth2/token', tab)).toEqual([]);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByLabel('E-mail').waitFor();
  });
});

test('the address of a finished sign-in, opened again, is rejected without a request to the pool', async () => {
  const user = newUser('operator');
  await withTab('', async (tab) => {
    const { page, context } = tab;
    const [returned] = await Promise.all([
      page.waitForRequest(/dashboard\?code=/),
      signInAs(page, user),
    ]);
    const copied = returned.url();
    const second = await context.newPage();
    await second.goto(copied);
    await second.getByText('The sign-in was not started in this tab.').waitFor();
    expect(sentTo('oauth2/token', tab)).toHaveLength(1);
  });
});

test('an error of the login is shown, with a way to try again', async () => {
  await withTab('?error=access_denied&error_description=User+is+disabled', async ({ page }) => {
    await page.getByText('The sign-in failed: User is disabled.').waitFor();
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByLabel('E-mail').waitFor();
  });
});

test('a second click on the sign-in does not end it', async () => {
  const user = newUser('operator');
  await withTab('?error=access_denied', async ({ page }) => {
    await page.getByRole('button', { name: 'Sign in' }).waitFor();
    // The first click is the last to be ready.
    await page.evaluate(`(() => {
      const digest = crypto.subtle.digest.bind(crypto.subtle);
      const second = Promise.withResolvers();
      let calls = 0;
      crypto.subtle.digest = async (...input) => {
        calls += 1;
        if (calls === 1) await second.promise;
        else second.resolve();
        return digest(...input);
      };
    })()`);
    await page.getByRole('button', { name: 'Sign in' }).dblclick();
    await signInAs(page, user);
    await heading(page, 'Overview').waitFor();
  });
});

test('a user without a role sees whom to ask, and no page', async () => {
  const user = newUser();
  await withTab('#/keys', async ({ page }) => {
    await signInAs(page, user);
    await page.getByText('No project is yours yet').waitFor();
    await page.getByText('Ask an operator to add you to a project.').waitFor();
    expect(await page.getByRole('alert').count()).toBe(0);
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByRole('button', { name: 'Sign in' }).waitFor();
  });
});

test('the holder of a key sees its usage without an account, and a user stays signed in there', async () => {
  const user = newUser('operator');
  await withTab('#/my-usage', async ({ page }) => {
    await page.getByLabel('API key').fill(deployment().router.key);
    await page.getByRole('button', { name: 'Show usage' }).click();
    await page.getByText(/\/ 100K/).waitFor();
    await page.goto(`${deployment().baseUrl}/dashboard#/plans`);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await signInAs(page, user);
    await page.getByRole('link', { name: 'My usage' }).click();
    await heading(page, 'My usage').waitFor();
    await page.getByRole('link', { name: 'Plans' }).click();
    await heading(page, 'Plans').waitFor();
  });
});
