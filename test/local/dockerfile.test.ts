import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';
import { temporaryFolder } from '../support/temporary-folder.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const folder = temporaryFolder('image');
const text = readFileSync(join(root, 'Dockerfile'), 'utf8');

/** The words of an instruction in its exec form. */
const wordsOf = (instruction: RegExp): string[] => JSON.parse(instruction.exec(text)?.[1] ?? '[]');

const entrypoint = wordsOf(/^ENTRYPOINT (\[.*\])$/m);
const health = wordsOf(/^ {2}CMD (\[.*\])$/m);

test('the image runs as a user without rights, from a base of the Node that the project needs', () => {
  expect(text).toMatch(/^USER node$/m);
  const { engines } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  const [, base] = /^FROM node:(\d+)-slim$/m.exec(text) ?? [];
  expect(Number(base)).toBeGreaterThanOrEqual(Number(/\d+/.exec(engines.node)?.[0]));
});

test('its entry point starts a healthy router, without Docker too, and its health check fails without one', async () => {
  const [command = '', script = '', ...args] = entrypoint;
  expect([command, script]).toEqual(['node', 'dist/model-router.mjs']);
  const env = { ...process.env, PORT: '0', MODEL_ROUTER_ADMIN_SECRET: 'a secret of sixteen' };
  const options = args.map((arg) => (arg === '/data' ? join(folder, 'data') : arg));
  // The sources: dist/ has the same command (package.test.ts).
  const child = spawn(process.execPath, ['local/command.ts', ...options, '--json'], {
    ...{ cwd: root, env, stdio: ['ignore', 'pipe', 'inherit'] },
  });
  onTestFinished(() => {
    child.kill('SIGKILL');
  });
  const [line] = await once(createInterface(child.stdout), 'line');
  const { baseUrl } = JSON.parse(String(line)) as { baseUrl: string };
  const check = async (port: string) => {
    const ended = spawn(process.execPath, health.slice(1), { env: { ...process.env, PORT: port } });
    const [code] = await once(ended, 'exit');
    return code;
  };
  expect(await check(new URL(baseUrl).port)).toBe(0);
  expect(await check('1')).toBe(1);
});
