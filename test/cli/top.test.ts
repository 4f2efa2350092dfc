import { PassThrough } from 'node:stream';
import { expect, test } from 'vitest';
import * as z from 'zod';
import { createProgress } from '../../cli/progress.ts';
import { run } from '../../cli/run.ts';
import { MODEL_ON, post, useRouter } from '../support/local.ts';
import { runCli } from '../support/run-cli.ts';

const router = useRouter();

const ask = async (content: string): Promise<string> => {
  const body = { model: MODEL_ON.chat, messages: [{ role: 'user', content }] };
  const response = await post(router(), '/v1/chat/completions', body);
  await response.text();
  return response.headers.get('x-request-id') ?? '';
};

const Measures = z.object({ requests: z.number(), failed: z.number(), cost_usd: z.number() });
const Frame = z.object({
  ...Measures.shape,
  failed_percent: z.number(),
  models: z.array(z.object({ model: z.string(), ...Measures.shape })),
  targets: z.array(Measures),
  newest: z.array(z.object({ id: z.string() })),
});

const readFrame = async () => {
  const { code, out } = await runCli(['top', '--json', '--url', router().baseUrl]);
  expect(code).toBe(0);
  return Frame.parse(JSON.parse(out));
};

test('admin top sums the requests of the last minutes by model and target, as their list has them', async () => {
  const screen = async () => (await runCli(['top', '--once', '--url', router().baseUrl])).out;
  const first = await ask('say hello');
  await expect.poll(screen).toMatch(/: 1 request, [\d.]+ a second\n/);
  const ids = [first, await ask('fault status=400'), await ask('say hello')];
  await expect.poll(async () => (await readFrame()).requests).toBe(3);
  const frame = await readFrame();
  expect(frame).toMatchObject({ failed: 1, failed_percent: 33.3 });
  expect(frame.newest.map(({ id }) => id).toSorted()).toEqual(ids.toSorted());
  expect(frame.models).toMatchObject([{ model: MODEL_ON.chat, requests: 3, failed: 1 }]);
  for (const groups of [frame.models, frame.targets]) {
    const cost = groups.reduce((sum, { cost_usd }) => sum + cost_usd, 0);
    expect(cost).toBeCloseTo(frame.cost_usd, 6);
  }
  expect(frame.cost_usd).toBeGreaterThan(0);
  const out = await screen();
  expect(out).toMatch(/: 3 requests, [\d.]+ a second\n33\.3 % failed, 0 refused, \$0\.\d+ spent/);
  expect(out).toMatch(/^MODEL +REQUESTS +FAILED/m);
});

test('on a terminal admin top shows a request in place of the last screen when it has ended', async () => {
  const stdout = Object.assign(new PassThrough(), { isTTY: true });
  const io = { stdin: process.stdin, stdout, stderr: new PassThrough(), env: {} };
  const stopped = new Promise<never>((_, reject) => stdout.once('error', reject));
  const running = Promise.race([
    run(['top', '--url', router().baseUrl], Date.now(), io),
    stopped,
  ]).catch(() => undefined);
  let shown = '';
  stdout.on('data', (chunk: Buffer) => {
    shown += chunk.toString();
  });
  const id = await ask('say later');
  await expect.poll(() => shown, { timeout: 30_000 }).toContain(id);
  expect(shown.split('\u001B[H\u001B[2J').at(-1)).toContain(id);
  stdout.destroy(new Error('The terminal is closed.'));
  await running;
});

const sendTo = (output: PassThrough & { isTTY?: boolean }) => {
  let now = 0;
  const progress = createProgress(output, () => now);
  const client = progress.watch(async () => ({ data: [{}, {}] }));
  const calls = progress.watch(async () => ({}));
  const send = (one: typeof client) => {
    now += 700;
    return one({ method: 'GET', path: '/' });
  };
  return { progress, list: () => send(client), call: () => send(calls) };
};

test('long work shows a bar on a terminal, which is removed at its end', async () => {
  const output = Object.assign(new PassThrough({ encoding: 'utf8' }), { isTTY: true });
  const { progress, call } = sendTo(output);
  await call();
  expect(output.read()).toBe(null);
  progress.expect(3);
  await call();
  expect(output.read()).toBe(`\r[${'#'.repeat(12)}${'.'.repeat(12)}] 2 of 4\u001B[K`);
  progress.count();
  progress.count();
  expect(output.read()).toContain(`[${'#'.repeat(24)}] 4 of 4`);
  progress.end();
  expect(output.read()).toBe('\r\u001B[K');
});

test('long work writes a line each 5 s to a log, and short work none', async () => {
  const output = new PassThrough({ encoding: 'utf8' });
  const { progress, list } = sendTo(output);
  for (let page = 1; page <= 7; page += 1) await list();
  expect(output.read()).toBe(null);
  for (let page = 8; page <= 16; page += 1) await list();
  expect(output.read()).toBe('16 rows\n32 rows\n');
  progress.end();
  expect(output.read()).toBe(null);
});
