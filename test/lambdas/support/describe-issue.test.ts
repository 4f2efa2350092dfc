import { describe, expect, test } from 'vitest';
import type { UpstreamProtocolName } from '../../../lambdas/protocols/protocol.ts';
import { callerProtocols } from '../../../lambdas/protocols/protocols.ts';

const GOOD = { model: 'm', max_tokens: 5, messages: [{ role: 'user', content: 'hi' }] };

const errorOf = (family: UpstreamProtocolName, body: unknown): unknown => {
  try {
    return callerProtocols[family].decodeRequest(body);
  } catch (error) {
    return error instanceof Error ? error.message : error;
  }
};

describe.each(['chat', 'messages'] as const)('a body of %s is refused with', (family) => {
  test.each([
    [{ model: undefined }, 'model: is required.'],
    [{ model: '' }, 'model: must have at least 1 character.'],
    [{ model: 7 }, 'model: must be a string.'],
    [{ messages: undefined }, 'messages: is required.'],
    [{ messages: [] }, 'messages: must have at least 1 item.'],
    [{ messages: {} }, 'messages: must be an array.'],
    [
      { messages: [{ role: 'user', content: 7 }] },
      'messages.0.content: must be a string or an array.',
    ],
    [{ stream: 'yes' }, 'stream: must be a boolean.'],
    [{ max_tokens: 1.5 }, 'max_tokens: must be an integer.'],
    [{ temperature: -1 }, 'temperature: must be at least 0.'],
  ])('what is wrong with %o', (change, message) => {
    expect(errorOf(family, { ...GOOD, ...change })).toBe(message);
  });

  test('what it must be, where it is no object', () => {
    expect(errorOf(family, 'hi')).toBe('The body must be an object.');
  });

  test('nothing of what a validator calls it', () => {
    const bodies = [
      null,
      [],
      {},
      { ...GOOD, tools: [{}] },
      { ...GOOD, tool_choice: { type: 'x' } },
    ];
    for (const body of bodies) expect(errorOf(family, body)).not.toMatch(/Invalid|received|>=/);
  });
});
