import { describe, expect, test } from 'vitest';
import { readDirectives } from '../../../local/embedded-upstream/directives.ts';

describe('directives of a prompt', () => {
  test('a plain question holds none', () => {
    expect(readDirectives('Please call me back, I think we should say hello.')).toEqual({
      calls: [],
      think: undefined,
      say: undefined,
      fault: undefined,
    });
  });

  test('several calls are found anywhere, with nested and quoted braces as they were written', () => {
    const { calls } = readDirectives('call a {"x": {"y": "}{"}} and then call b-2 {} thanks');
    expect(calls).toEqual([
      { name: 'a', arguments: '{"x": {"y": "}{"}}' },
      { name: 'b-2', arguments: '{}' },
    ]);
  });

  test('a call without complete JSON is no call', () => {
    expect(readDirectives('call a {"x": 1').calls).toEqual([]);
    expect(readDirectives('call a {x: 1}').calls).toEqual([]);
  });

  test('think takes its line, say takes the rest and what it quotes stays a quote', () => {
    expect(readDirectives('think first\nsay two\nlines: call a {}')).toEqual({
      calls: [],
      think: 'first',
      say: 'two\nlines: call a {}',
      fault: undefined,
    });
  });

  test('a fault is one word on its own line', () => {
    expect(readDirectives('fault status=503\nhello').fault).toBe('status=503');
    expect(readDirectives('my fault entirely').fault).toBeUndefined();
  });
});
