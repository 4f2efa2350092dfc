import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';
import { systemClock } from '../../lambdas/support/clock.ts';
import { type Fleet, startFleet } from '../support/fleet.ts';
import { modelOn, targetAt } from '../support/models.ts';
import { send } from '../support/send.ts';

const SCRIPT = fileURLToPath(new URL('freezes/black-hole.py', import.meta.url));
/** Linux alone shows what was acknowledged, and only a program of its interfaces can drop packets without a privilege. */
const isRunnable = process.platform === 'linux' && spawnSync('python3', ['--version']).status === 0;
if (!isRunnable)
  process.stderr.write('Not run: test/faults/black-hole. It needs Linux and python3.\n');

const linesOf = (child: ChildProcess): (() => string[]) => {
  let text = '';
  child.stdout?.on('data', (bytes: Buffer) => {
    text += bytes.toString();
  });
  return () => text.split('\n').filter((line) => line !== '');
};

const start = async (...args: string[]) => {
  const child = spawn('python3', [SCRIPT, ...args], { stdio: ['ignore', 'pipe', 'inherit'] });
  const lines = linesOf(child);
  onTestFinished(() => void child.kill());
  await expect.poll(lines).toHaveLength(1);
  const url = `http://127.0.0.1:${lines()[0]}`;
  const fleet = await startFleet({ models: [modelOn([targetAt(url)])], clock: systemClock });
  onTestFinished(fleet.close);
  return { fleet, seen: (line: string) => lines().filter((one) => one === line).length };
};

const ask = async ({ urls, key }: Fleet) => {
  const startedAt = performance.now();
  const { status } = await send(urls[0] ?? '', '/v1/chat/completions', {
    method: 'POST',
    headers: { 'x-api-key': key },
    body: JSON.stringify({ model: 'vendor/model', messages: [{ role: 'user', content: 'hi' }] }),
  });
  return { status, ms: performance.now() - startedAt };
};

test.skipIf(!isRunnable)(
  'a request on a connection that died without a packet is sent again after two seconds, and reaches the provider once',
  async () => {
    const { fleet, seen } = await start('dead');
    expect((await ask(fleet)).status).toBe(200);
    await expect.poll(() => seen('dropped')).toBe(1);
    const { status, ms } = await ask(fleet);
    expect(status).toBe(200);
    expect(ms).toBeGreaterThan(1_900);
    expect(ms).toBeLessThan(6_500);
    expect(seen('request')).toBe(2);
    expect(await fleet.charged()).toBe(2);
    expect(fleet.lines().filter(({ event }) => event === 'upstream_failed')).toEqual([]);
  },
);

test.skipIf(!isRunnable)(
  'a provider that is slow on a connection that is alive gets a request once',
  async () => {
    const { fleet, seen } = await start('slow', '7');
    expect((await ask(fleet)).status).toBe(200);
    const { status, ms } = await ask(fleet);
    expect([status, ms > 7_000, seen('request')]).toEqual([200, true, 2]);
  },
);
