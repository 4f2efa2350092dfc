import { expect, test } from 'vitest';
import { readOptions } from '../../local/options.ts';
import { UsageError } from '../../local/usage-error.ts';

test('the router listens on port 8787 with a delay of 15 ms by default', () => {
  expect(readOptions([], {})).toEqual({
    port: 8787,
    delayMs: 15,
    json: false,
    help: false,
    own: undefined,
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
