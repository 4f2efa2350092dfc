import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { startUserPool, type UserPoolStandIn } from '../support/user-pool.ts';
import { chooseFor, holdNext, overflowOf, rowOf, useConsole, violationsOn } from './browser.ts';

let cognito: UserPoolStandIn;
beforeAll(async () => {
  cognito = await startUserPool();
});
afterAll(() => cognito.close());

const { withTab } = useConsole({ readOptions: () => ({ members: cognito.pool }) });

const rolesOf = (email: string) => [...(cognito.users.get(email)?.groups ?? [])].toSorted();

beforeEach(() => {
  cognito.users.clear();
  cognito.failWith(undefined);
  const groups = new Set(['operator']);
  cognito.users.set('olga@example.com', { status: 'CONFIRMED', groups, emails: 0 });
});

test('a member is invited, gets other roles and is removed in the page of the members', async () => {
  await withTab('#/members', async ({ page }) => {
    await page.getByRole('button', { name: 'Invite member' }).click();
    const invitation = page.getByRole('dialog', { name: 'Invite member' });
    await invitation.getByLabel('E-mail address').fill('tom');
    await invitation.getByRole('button', { name: 'Send invitation' }).click();
    await invitation.getByText('must be an e-mail address').waitFor();
    await invitation.getByLabel('E-mail address').fill('tom@example.com');
    await invitation.getByRole('button', { name: 'Send invitation' }).click();
    await rowOf(page, 'tom@example.com').getByText('invited', { exact: true }).waitFor();
    expect(rolesOf('tom@example.com')).toEqual(['viewer']);

    await page.getByRole('button', { name: 'Roles tom@example.com' }).click();
    const roles = page.getByRole('dialog', { name: 'Roles of tom@example.com' });
    await roles.getByLabel(/^Viewer/).uncheck();
    await expect.poll(() => roles.getByRole('button', { name: 'Save' }).isDisabled()).toBe(true);
    await roles.getByLabel(/^Member of local/).check();
    await roles.getByRole('button', { name: 'Save' }).click();
    await rowOf(page, 'tom@example.com').getByRole('link', { name: 'local' }).waitFor();
    expect(rolesOf('tom@example.com')).toEqual(['project:local']);

    await chooseFor(page, 'tom@example.com', 'Remove…');
    const removal = page.getByRole('dialog', { name: 'Remove tom@example.com?' });
    await removal.getByLabel('Type tom@example.com to confirm').fill('tom@example.com');
    await removal.getByRole('button', { name: 'Remove member' }).click();
    await rowOf(page, 'tom@example.com').waitFor({ state: 'detached' });
    expect([...cognito.users.keys()]).toEqual(['olga@example.com']);
  });
});

test('members are found by the beginning of an address, by project, and on further pages', async () => {
  for (let index = 10; index < 40; index += 1) {
    const groups = new Set([index === 12 ? 'project:local' : 'viewer']);
    cognito.users.set(`u${index}@example.com`, { status: 'CONFIRMED', groups, emails: 0 });
  }
  await withTab('#/members', async ({ page }) => {
    await page.getByRole('button', { name: 'Show more' }).click();
    await rowOf(page, 'u39@example.com').waitFor();
    await page.getByLabel('Search members').fill('olg');
    await rowOf(page, 'u10@example.com').waitFor({ state: 'detached' });
    await rowOf(page, 'olga@example.com').waitFor();
    await page.getByLabel('Project').selectOption('local');
    await rowOf(page, 'olga@example.com').waitFor({ state: 'detached' });
    await rowOf(page, 'u12@example.com').waitFor();
  });
});

test('a page of members that arrives after a new search is not among what was found', async () => {
  for (let index = 10; index < 70; index += 1) {
    const groups = new Set(['viewer']);
    cognito.users.set(`u${index}@example.com`, { status: 'CONFIRMED', groups, emails: 0 });
  }
  await withTab('#/members', async ({ page }) => {
    const { asked, release } = await holdNext(page, /members\?.*cursor=/);
    await page.getByRole('button', { name: 'Show more' }).click();
    await asked;
    await page.getByLabel('Search members').fill('u');
    await rowOf(page, 'olga@example.com').waitFor({ state: 'detached' });
    await page.getByRole('button', { name: 'Show more' }).click();
    const rows = page.getByRole('row').filter({ hasText: '@example.com' });
    await expect.poll(() => rows.count()).toBeGreaterThan(30);
    const found = await rows.count();
    await release();
    expect(await rows.count()).toBe(found);
  });
});

test('roles that are saved after the project was changed reload the members of the new project', async () => {
  const groups = new Set(['project:local']);
  cognito.users.set('tom@example.com', { status: 'CONFIRMED', groups, emails: 0 });
  await withTab('#/members', async ({ page }) => {
    await rowOf(page, 'olga@example.com').waitFor();
    await page.getByLabel('Project').selectOption('local');
    await rowOf(page, 'olga@example.com').waitFor({ state: 'detached' });
    await page.getByRole('button', { name: 'Roles tom@example.com' }).click();
    const { asked, release } = await holdNext(page, /^POST .*members/);
    await page.getByRole('dialog').getByRole('button', { name: 'Save' }).click();
    await asked;
    await page.evaluate('history.back()');
    await page.getByText('olga@example.com').waitFor({ state: 'attached' });
    await release();
    await rowOf(page, 'olga@example.com').waitFor();
  });
});

test('the page of the members and its dialogs have no axe violation, and no overflow at 390 px', async () => {
  await withTab('#/members', async ({ page }) => {
    const openings = [
      () => page.getByRole('button', { name: 'Invite member' }).click(),
      () => page.getByRole('button', { name: 'Roles olga@example.com' }).click(),
      () => chooseFor(page, 'olga@example.com', 'Remove…'),
    ];
    await rowOf(page, 'olga@example.com').waitFor();
    expect(await violationsOn(page)).toEqual([]);
    for (const open of openings) {
      await open();
      await page.getByRole('dialog').waitFor();
      expect(await violationsOn(page)).toEqual([]);
      await page.keyboard.press('Escape');
    }
    await page.setViewportSize({ width: 390, height: 820 });
    expect(await overflowOf(page)).toBeLessThanOrEqual(0);
  });
});

test('a failure of the pool is shown with its name, and the members are loaded again', async () => {
  cognito.failWith('TooManyRequestsException');
  await withTab('#/members', async ({ page }) => {
    await page.getByText('The user pool failed (TooManyRequestsException).').waitFor();
    cognito.failWith(undefined);
    await page.getByRole('button', { name: 'Try again' }).click();
    await rowOf(page, 'olga@example.com').waitFor();
  });
});
