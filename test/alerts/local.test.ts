import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { describe, expect, test } from 'vitest';
import models from '../../lambdas/catalog/models.json' with { type: 'json' };
import { dayOf } from '../../lambdas/support/clock.ts';
import { startBuilt, untilReady } from '../local/local-process.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { SECRET, startReceiver } from './receiver.ts';

const root = temporaryFolder('alerts');
const ENV = { MODEL_ROUTER_ALERT_SECRET: SECRET };
const SLOW = { timeout: 20_000 };

type Router = { baseUrl: string; key: string };

const startWith = async (args: string[]) => {
  const child = startBuilt(['--json', '--delay', '0', ...args], ENV);
  const { baseUrl, key } = await untilReady(child);
  return {
    ...{ baseUrl, key },
    end: async (signal: NodeJS.Signals = 'SIGTERM') => {
      child.kill(signal);
      await once(child, 'exit');
    },
  };
};

const ask = async ({ baseUrl, key }: Router, content: string): Promise<number> => {
  const response = await fetch(`${baseUrl}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'aurora/scribe-1', messages: [{ role: 'user', content }] }),
  });
  await response.text();
  return response.status;
};

const admin = async ({ baseUrl }: Router, path: string, body: object) => {
  const response = await fetch(`${baseUrl}/admin${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  return (await response.json()) as { id: string; key: string };
};

/** Keys of three projects: what fails for one alone says nothing about a target. */
const createKeys = async (router: Router): Promise<Router[]> => {
  const keys: Router[] = [];
  for (const id of ['one', 'two', 'three']) {
    await admin(router, '/projects', { id });
    const { key } = await admin(router, `/projects/${id}/keys`, { plan: 'local' });
    keys.push({ ...router, key });
  }
  return keys;
};

const askUntil = async (keys: Router[], content: string, isDone: () => boolean) => {
  for (let count = 0; count < 60 && !isDone(); count += 1) {
    await Promise.all(keys.map((key) => ask(key, content)));
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
};

describe('alerts of npm start', () => {
  test('a target that is down and back is announced once each, signed, and to Slack', async () => {
    const receiver = await startReceiver();
    const router = await startWith(['--alerts', receiver.url, '--slack', `${receiver.url}/slack`]);
    const told = (title: string) => receiver.titles().some((one) => one === title);
    const down = 'Target aurora/scribe-1 is down';
    const keys = await createKeys(router);
    await askUntil(keys, 'fault status=500', () => told(down));
    await expect.poll(() => receiver.titles(), SLOW).toContain(down);
    for (let count = 0; count < 10; count += 1) await ask(router, 'fault status=500');
    const back = 'Target aurora/scribe-1 is back';
    await askUntil(keys, 'say hello', () => told(back));
    await expect.poll(() => receiver.titles(), SLOW).toContain(back);
    for (const title of [down, back]) {
      expect(receiver.titles().filter((one) => one === title)).toEqual([title]);
    }
    const fired = receiver.received.find(({ title }) => title === down);
    expect(fired).toMatchObject({ state: 'firing', runbook: expect.stringMatching(/#failovers$/) });
    await expect.poll(() => receiver.messages.join('\n'), SLOW).toContain(`*Resolved: ${back}*`);
    expect(receiver.messages.join('\n')).toMatch(/\*FIRING: .* is down\*\n.*\n<https:.*\|Runbook>/);
    expect(receiver.faults).toEqual([]);
    await router.end();
  });

  test('a credential that its provider refuses, and accepts again, is announced once each', async () => {
    const receiver = await startReceiver();
    const router = await startWith(['--alerts', receiver.url]);
    const keys = await createKeys(router);
    const told = (part: string) => receiver.titles().filter((title) => title.includes(part));
    const refused = 'The credential of aurora/scribe-1 was refused';
    await askUntil(keys, 'fault status=401', () => told(refused).length > 0);
    await expect.poll(() => told(refused), SLOW).toEqual([refused]);
    const accepted = 'The credential of borealis is accepted again';
    await askUntil(keys, 'say hello', () => told(accepted).length > 0);
    await expect.poll(() => told('accepted again'), SLOW).not.toEqual([]);
    expect(told(refused)).toEqual([refused]);
    expect(receiver.faults).toEqual([]);
    await router.end();
  });

  test('thresholds of a plan, a leaked key, and its use afterwards, are announced once each, and the audit says that it leaked', async () => {
    const receiver = await startReceiver();
    const router = await startWith(['--alerts', receiver.url]);
    await admin(router, '/plans', { id: 'tiny', rpm: 100, quota: 4, period: 'day' });
    const { id, key } = await admin(router, '/projects/local/keys', { plan: 'tiny' });
    for (let count = 0; count < 4; count += 1) {
      expect(await ask({ ...router, key }, 'say hello')).toBe(200);
    }
    await admin(router, `/projects/local/keys/${id}/revoke`, { reason: 'leaked' });
    const audit = await fetch(`${router.baseUrl}/admin/audit?key=${id}&limit=1`);
    expect(await audit.json()).toMatchObject({
      data: [{ action: 'keys.revoke', after: { status: 'revoked', reason: 'leaked' } }],
    });
    const used = `Key ${id} is used, though it was revoked`;
    const askAndRead = async () => {
      expect(await ask({ ...router, key }, 'say hello')).toBe(401);
      return receiver.titles();
    };
    await expect.poll(askAndRead, { ...SLOW, interval: 500 }).toContain(used);
    await askAndRead();
    const expected = [
      used,
      ...[50, 80, 100].map((percent) => `${percent} % of the quota of key ${id} are used`),
      `Key ${id} leaked, and was revoked`,
    ].filter((title) => !title.startsWith('80'));
    await expect.poll(() => receiver.titles().toSorted(), SLOW).toEqual(expected.toSorted());
    expect(new Set(receiver.received.map((one) => one.id)).size).toBe(expected.length);
    expect(receiver.faults).toEqual([]);
    await router.end();
  });

  test('a receiver that is away, slow or wrong gets each alert afterwards, also of a process that was killed', async () => {
    const receiver = await startReceiver();
    const folder = join(root, 'kept');
    receiver.answerWith((response) => response.writeHead(503).end());
    const router = await startWith(['--data', folder, '--alerts', receiver.url]);
    const keys: string[] = [];
    for (let count = 0; count < 3; count += 1) {
      const { id } = await admin(router, '/projects/local/keys', { plan: 'local' });
      await admin(router, `/projects/local/keys/${id}/revoke`, {});
      keys.push(`Key ${id} was revoked`);
    }
    await expect.poll(() => receiver.requests.length, SLOW).toBeGreaterThan(0);
    await router.end('SIGKILL');
    // Never answers, and then breaks off.
    let count = 0;
    receiver.answerWith((response) => {
      count += 1;
      if (count > 1) response.destroy();
    });
    const again = await startWith(['--data', folder, '--alerts', receiver.url]);
    await expect.poll(() => count, SLOW).toBeGreaterThan(1);
    receiver.answerWith(undefined);
    await expect.poll(() => receiver.titles().toSorted(), SLOW).toEqual(keys.toSorted());
    expect(receiver.faults).toEqual([]);
    await again.end();
  });

  test('an alert that the receiver rejects is dropped with a line that names it, and later ones are sent', async () => {
    const receiver = await startReceiver();
    receiver.answerWith((response) => response.writeHead(410).end());
    const child = startBuilt(['--json', '--alerts', receiver.url], ENV);
    let said = '';
    child.stderr.on('data', (part) => {
      said += part;
    });
    const router = await untilReady(child);
    const revoke = async () => {
      const { id } = await admin(router, '/projects/local/keys', { plan: 'local' });
      await admin(router, `/projects/local/keys/${id}/revoke`, {});
      return id;
    };
    const first = await revoke();
    await expect
      .poll(() => said, SLOW)
      .toContain(`rejected an alert, which is dropped: Key ${first} was revoked`);
    receiver.answerWith(undefined);
    const second = await revoke();
    await expect.poll(() => receiver.titles(), SLOW).toEqual([`Key ${second} was revoked`]);
  });

  test('a model that retires within 30 days is announced once, also over restarts, and none that is retired', async () => {
    const receiver = await startReceiver();
    const dayIn = (days: number) => dayOf(Date.now() + days * 86_400_000);
    const soon = dayIn(20);
    const [model] = models;
    const catalog = [
      { ...model, id: 'own/gone', retires: dayIn(-1) },
      { ...model, id: 'own/old', retires: soon },
      { ...model, id: 'own/new', retires: dayIn(50) },
    ];
    const file = join(root, 'catalog.json');
    const secrets = join(root, 'secrets.json');
    writeFileSync(file, JSON.stringify(catalog));
    writeFileSync(secrets, JSON.stringify({ aurora: 'a', borealis: 'b' }));
    const own = ['--catalog', file, '--secrets', secrets];
    const args = ['--data', join(root, 'retiring'), ...own, '--alerts', receiver.url];
    for (let run = 0; run < 2; run += 1) {
      const router = await startWith(args);
      await expect
        .poll(() => receiver.titles(), SLOW)
        .toEqual([`Model own/old retires on ${soon}`]);
      await router.end();
    }
    expect(receiver.titles()).toHaveLength(1);
  });

  test.each([
    [['--alerts', 'http://127.0.0.1:9'], {}, 'MODEL_ROUTER_ALERT_SECRET: The signing secret must'],
    [['--alerts', 'x'], ENV, "Invalid --alerts 'x'"],
    [['--slack', 'file:///etc'], {}, "Invalid --slack 'file:///etc'"],
  ])('a start with %j and %j ends with one line', async (args, env, line) => {
    const child = startBuilt(args, { MODEL_ROUTER_ALERT_SECRET: '', ...env });
    const [said, [code]] = await Promise.all([text(child.stderr), once(child, 'exit')]);
    expect(code).toBe(1);
    expect(said).toContain(line);
    expect(said.trim().split('\n')).toHaveLength(1);
  });
});
