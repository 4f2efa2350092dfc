import { describe, expect, test } from 'vitest';
import { readDirectives } from '../../../local/embedded-upstream/directives.ts';

describe('directives of a prompt', () => {
  test('a plain question contains no directives', () => {
    expect(readDirectives('Please call me back, I think we should say hello.')).toEqual({
      calls: [],
      cached: 0,
      think: undefined,
      say: undefined,
      fault: undefined,
    });
  });

  test('several calls are read anywhere, with nested and quoted braces unchanged', () => {
    const { calls } = readDirectives('call a {"x": {"y": "}{"}} and then call b-2 {} thanks');
    expect(calls).toEqual([
      { name: 'a', arguments: '{"x": {"y": "}{"}}' },
      { name: 'b-2', arguments: '{}' },
    ]);
  });

  test('a call without complete JSON is ignored', () => {
    expect(readDirectives('call a {"x": 1').calls).toEqual([]);
    expect(readDirectives('call a {x: 1}').calls).toEqual([]);
  });

  test('think reads its line, say reads the rest, and a call after say is ignored', () => {
    expect(readDirectives('think first\nsay two\nlines: call a {}')).toEqual({
      calls: [],
      cached: 0,
      think: 'first',
      say: 'two\nlines: call a {}',
      fault: undefined,
    });
  });

  test('a fault is read only if it is one word alone on a line', () => {
    expect(readDirectives('fault status=503\nhello').fault).toBe('status=503');
    expect(readDirectives('my fault entirely').fault).toBeUndefined();
  });
});
