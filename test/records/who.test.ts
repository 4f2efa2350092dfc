import { expect, test } from 'vitest';
import { hashKey } from '../../lambdas/keys/api-key.ts';
import { holdAt } from '../../lambdas/metering/budgets.ts';
import type { Budget } from '../../lambdas/stores/budget-store.ts';
import { MINUTE_MS } from '../../lambdas/support/clock.ts';
import { testModels } from '../metering/test-models.ts';
import { startLab } from '../support/fleet-lab.ts';
import { answer, status } from '../support/fleet-upstream.ts';
import { post, useRouter } from '../support/local.ts';
import { runCli } from '../support/run-cli.ts';
import { send } from '../support/send.ts';

const NAMES = {
  'x-router-user': 'ann@a.test',
  'x-router-session': 'session-1',
  'x-router-agent': 'planner',
  'x-title': 'Shop',
  'x-router-tags': 'team=red,what is this,cost=7',
};

type Lab = Awaited<ReturnType<typeof startLab>>;

const ask = ({ fleet }: Lab, headers: Record<string, string>, fields: object = {}) =>
  send(fleet.urls[0] ?? '', '/v1/chat/completions', {
    method: 'POST',
    headers: { authorization: `Bearer ${fleet.key}`, ...headers },
    body: JSON.stringify({
      model: 'vendor/model',
      messages: [{ role: 'user', content: 'hi' }],
      ...fields,
    }),
  });

const explained = async ({ fleet }: Lab, id: unknown) => {
  const { text } = await send(fleet.urls[0] ?? '', `/v1/requests/${id}`, {
    headers: { authorization: `Bearer ${fleet.key}` },
  });
  return JSON.parse(text);
};

test.each([false, true])(
  'a request (streamed: %s) names for whom it is: its record has that, its provider has not, and x-router-dropped lists what is malformed',
  async (stream) => {
    const lab = await startLab([answer]);
    const sent = await ask(lab, NAMES, { stream });
    expect(sent.status, sent.text).toBe(200);
    expect(sent.headers['x-router-dropped']).toBe('x-router-tags[1]');
    expect(await explained(lab, sent.headers['x-request-id'])).toMatchObject({
      ...{ user: 'ann@a.test', session: 'session-1', agent: 'planner', client: 'Shop' },
      tags: { team: 'red', cost: '7' },
    });
    const [seen] = lab.primary.seen;
    expect(JSON.stringify(seen)).not.toMatch(/ann@a\.test|session-1|planner|Shop|team/);
    expect(lab.fleet.logText()).not.toMatch(/ann@a\.test|session-1|planner|team=red/);
  },
);

test('a request without such fields names nobody, and a strict one with malformed tags is answered', async () => {
  const lab = await startLab([answer]);
  const plain = await ask(lab, {});
  expect(plain.headers['x-router-dropped']).toBeUndefined();
  const nobody = { user: null, session: null, agent: null, client: null, tags: {} };
  expect(await explained(lab, plain.headers['x-request-id'])).toMatchObject(nobody);
  const strict = await ask(lab, { 'x-router-strict': '1', 'x-router-tags': '"' });
  expect([strict.status, strict.headers['x-router-dropped']]).toEqual([200, 'x-router-tags[0]']);
});

test('a failed request names for whom it was', async () => {
  const lab = await startLab([status(400)]);
  const sent = await ask(lab, NAMES);
  expect(sent.status).toBe(400);
  expect(await explained(lab, sent.headers['x-request-id'])).toMatchObject({ user: 'ann@a.test' });
});

test('a stage with a key keeps users, sessions and agents as hashes only, the same for each request', async () => {
  const lab = await startLab([answer], { readWhoKey: async () => 'stage-key' });
  const [one, other] = [await ask(lab, NAMES), await ask(lab, NAMES)];
  const first = await explained(lab, one.headers['x-request-id']);
  const hash = expect.stringMatching(/^h_[\w-]{22}$/);
  expect(first).toMatchObject({ user: hash, session: hash, agent: hash, client: 'Shop' });
  const { user, session } = await explained(lab, other.headers['x-request-id']);
  expect([user, session]).toEqual([first.user, first.session]);
  const tables = JSON.stringify(await lab.fleet.readTables());
  expect(tables).not.toMatch(/ann@a\.test|session-1|planner/);
});

test('the budget of a user is that of its hash on a stage with a key, and a key that cannot be read is a 503', async () => {
  let readKey = async () => 'stage-key';
  const lab = await startLab([answer], { readWhoKey: () => readKey() });
  const { keys, budgets } = lab.fleet.stores;
  const first = await explained(lab, (await ask(lab, NAMES)).headers['x-request-id']);
  const budget: Budget = {
    ...{ scope: 'user', id: `project/${first.user}`, name: first.user, project: 'project' },
    ...{ period: 'total', max: 1, isPaused: false, setBy: 'operator', setAt: lab.clock.now() },
  };
  await budgets.setBudget(budget, holdAt(budget, lab.clock.now()));
  await keys.changeKey(hashKey(lab.fleet.key), { budgets: ['user'] });
  lab.clock.advance(10 * MINUTE_MS);
  expect((await ask(lab, { 'x-router-user': 'bob' })).status).toBe(200);
  const denied = await ask(lab, NAMES);
  expect(denied.status, denied.text).toBe(402);
  expect(denied.text).toContain(first.user);
  expect(denied.text).not.toContain('ann@a.test');
  readKey = () => Promise.reject(new Error('unavailable'));
  const unknown = await ask(lab, NAMES);
  expect([unknown.status, unknown.headers['retry-after']]).toEqual([503, '1']);
  expect(unknown.text).toContain('The budget could not be checked.');
});

test('a stage whose key cannot be read keeps neither users nor their hashes', async () => {
  const readWhoKey = async () => {
    throw new Error('unavailable');
  };
  const lab = await startLab([answer], { readWhoKey });
  const sent = await ask(lab, NAMES);
  expect(await explained(lab, sent.headers['x-request-id'])).toMatchObject({
    ...{ user: null, session: null, agent: null, client: 'Shop' },
  });
});

const local = useRouter({ catalog: testModels() });

test('requests list finds the requests of a user, session, agent, client or tag, and requests ID prints them', async () => {
  const body = { model: 'test/answers', messages: [{ role: 'user', content: 'say one' }] };
  const ask = (headers: Record<string, string>) =>
    post(local(), '/v1/chat/completions', body, { headers }).then(async (response) => {
      await response.text();
      return String(response.headers.get('x-request-id'));
    });
  const named = await ask(NAMES);
  await ask({ 'x-router-user': 'bob', 'x-router-tags': 'team=blue' });
  const cli = (...args: string[]) => runCli([...args, '--url', local().baseUrl]);
  for (const [name, value] of [
    ['user', 'ann@a.test'],
    ['session', 'session-1'],
    ['agent', 'planner'],
    ['client', 'Shop'],
    ['tag', 'team=red'],
  ]) {
    const { out } = await cli('requests', 'list', '--json', `--${name}`, String(value));
    expect(JSON.parse(out).data.map(({ id }: { id: string }) => id)).toEqual([named]);
  }
  const shown = await cli('requests', named);
  expect(shown.out).toContain('user ann@a.test, session session-1, agent planner, client Shop');
});
