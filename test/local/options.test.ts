import { expect, test } from 'vitest';
import { readOptions } from '../../local/options.ts';
import { UsageError } from '../../local/usage-error.ts';

test('the router listens on port 8787 with a delay of 15 ms by default', () => {
  expect(readOptions([], {})).toEqual({
    ...{ port: 8787, host: '127.0.0.1', delayMs: 15 },
    ...{ json: false, help: false, version: false },
    receivers: [],
    mayReachInner: false,
  });
});

test('--port overrides PORT, and PORT overrides the default', () => {
  expect(readOptions([], { PORT: '9000' }).port).toBe(9000);
  expect(readOptions(['--port', '0'], { PORT: '9000' }).port).toBe(0);
});

test.each(['x', '-1', '65536', '1.5', ' '])("a port of '%s' is rejected with its value", (PORT) => {
  expect(() => readOptions([], { PORT })).toThrow(UsageError);
  expect(() => readOptions([], { PORT })).toThrow(
    `Invalid PORT '${PORT}': must be a whole number from 0 to 65535.`,
  );
});

test('--secrets without --catalog is rejected', () => {
  const files = { catalog: 'c.json', secrets: 's.json' };
  expect(readOptions(['--catalog', 'c.json', '--secrets', 's.json'], {}).ownFiles).toEqual(files);
  expect(readOptions(['--catalog', 'c.json'], {}).ownFiles).toEqual({ catalog: 'c.json' });
  expect(() => readOptions(['--secrets', 's.json'], {})).toThrow('--secrets requires --catalog');
});

test('an unknown option is rejected with the usage text', () => {
  expect(() => readOptions(['--nope'], {})).toThrow(/--nope[\s\S]*Usage: npm start/);
});

test('an address beyond loopback needs an admin secret of 16 characters, and loopback none', () => {
  const args = ['--host', '0.0.0.0'];
  expect(() => readOptions(args, {})).toThrow('set MODEL_ROUTER_ADMIN_SECRET');
  const short = { MODEL_ROUTER_ADMIN_SECRET: 'x'.repeat(15) };
  expect(() => readOptions(args, short)).toThrow('16 characters or more');
  const secret = 'x'.repeat(16);
  expect(readOptions(args, { MODEL_ROUTER_ADMIN_SECRET: secret }).adminSecret).toBe(secret);
  for (const host of ['127.0.0.1', '127.0.0.2', 'localhost', '::1']) {
    expect(readOptions(['--host', host], {}).adminSecret).toBeUndefined();
  }
});
