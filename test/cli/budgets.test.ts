import { expect, test } from 'vitest';
import { useRouter } from '../support/local.ts';
import { runCli } from '../support/run-cli.ts';

const router = useRouter();
const admin = (...args: string[]) => runCli([...args, '--url', router().baseUrl]);
const project = ['--project', 'local'];

/** A new key of the project stands for it. */
const KEY = 'key_…';
const OWNERS = [
  { scope: 'organisation', owner: ['--organisation'] },
  { scope: 'key', owner: [...project, '--key', KEY] },
  { scope: 'project', owner: project },
  { scope: 'users', owner: [...project, '--users'] },
  { scope: 'user', owner: [...project, '--user', 'ann@example.com/1'] },
  { scope: 'sessions', owner: [...project, '--sessions'] },
  { scope: 'session', owner: [...project, '--session', 's-1'] },
];

test.each(OWNERS)(
  'the CLI sets, shows, pauses, resumes and deletes a budget of the scope $scope',
  async ({ scope, owner: options }) => {
    const made = await admin('keys', 'create', ...project, '--plan', 'local', '--json');
    const { id } = JSON.parse(made.out) as { id: string };
    const owner = options.map((option) => (option === KEY ? id : option));
    const set = await admin('budgets', 'set', ...owner, '--max-usd', '2.50', '--period', 'day');
    expect(set).toMatchObject({ code: 0 });
    for (const option of ['--pause', '--resume']) {
      expect((await admin('budgets', 'set', ...owner, option)).code).toBe(0);
      const { paused, ...shown } = JSON.parse(
        (await admin('budgets', 'show', ...owner, '--json')).out,
      );
      expect(shown).toMatchObject({ scope, max_usd: 2.5, period: 'day' });
      expect(paused).toBe(option === '--pause' ? true : undefined);
    }
    const list = await admin('budgets', 'list');
    expect(list.out).toMatch(/FORECAST|forecast/);
    expect(list.out).toContain(scope);
    expect((await admin('budgets', 'delete', ...owner)).code).toBe(2);
    expect((await admin('budgets', 'delete', ...owner, '--yes')).code).toBe(0);
    expect((await admin('budgets', 'show', ...owner)).code).not.toBe(0);
  },
);

test.each([
  [['--organisation', ...project], '--organisation and --project are mutually exclusive.'],
  [[...project, '--user', 'a', '--session', 'b'], 'are mutually exclusive'],
  [['--user', 'a'], 'Missing option: --project'],
])('the CLI rejects a budget of %s', async (owner, message) => {
  const { code, err } = await admin('budgets', 'show', ...owner);
  expect(code).toBe(2);
  expect(err).toContain(message);
});
