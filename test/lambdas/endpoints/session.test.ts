import { describe, expect, test } from 'vitest';
import { sessionIdOf } from '../../../lambdas/endpoints/check-call.ts';
import { sessionNamed } from '../../../lambdas/endpoints/who.ts';
import { decodeRequest } from '../../../lambdas/protocols/messages/request.ts';

const CLAUDE_CODE = '{"device_id":"d","account_uuid":"","session_id":"s-1"}';

describe('the session that a request names', () => {
  test.each([
    ['x-claude-code-session-id', { 'x-claude-code-session-id': 'a', 'session-id': 'b' }, {}, 'a'],
    ['session-id', { 'session-id': 'b', session_id: 'c' }, {}, 'b'],
    ['session_id', { session_id: 'c', 'x-session-affinity': 'd' }, {}, 'c'],
    ['x-session-affinity', { 'x-session-affinity': 'd', 'x-session-id': 'e' }, {}, 'd'],
    ['x-session-id', { 'x-session-id': 'e' }, { prompt_cache_key: 'f' }, 'e'],
    ['x-router-session', { 'x-router-session': 'r', 'x-claude-code-session-id': 'a' }, {}, 'r'],
    ['helicone-session-id', { 'helicone-session-id': 'h' }, { prompt_cache_key: 'f' }, 'h'],
    ['session_id', {}, { session_id: 'g', metadata: { user_id: CLAUDE_CODE } }, 'g'],
    ['prompt_cache_key', {}, { prompt_cache_key: 'f', metadata: { user_id: CLAUDE_CODE } }, 'f'],
    ['metadata.user_id in JSON', {}, { metadata: { user_id: CLAUDE_CODE } }, 's-1'],
    ['the older user_id', {}, { metadata: { user_id: 'user_ab_account__session_s-2' } }, 's-2'],
    ['an end user', {}, { metadata: { user_id: 'alice' } }, undefined],
    ['a user_id that is no JSON', {}, { metadata: { user_id: '{"session_id"' } }, undefined],
    ['members of other types', {}, { prompt_cache_key: 7, metadata: 'x' }, undefined],
  ])('a session is named by %s', (_, headers, body, expected) => {
    expect(sessionNamed(headers, body)).toBe(expected);
  });
});

const requestOf = (system: string, ...turns: string[]) =>
  decodeRequest({
    model: 'vendor/model',
    max_tokens: 10,
    system,
    messages: turns.map((content, at) => ({ role: at % 2 === 0 ? 'user' : 'assistant', content })),
  });

describe('the id of a session', () => {
  const long = (end: string) => `${'x'.repeat(10_000)}${end}`;
  const id = (key: string, system: string, ...turns: string[]) =>
    sessionIdOf({ keyId: key, headers: {} }, requestOf(system, ...turns), undefined).id;

  const named = (system: string, turn: string, headers = {}) =>
    sessionIdOf({ keyId: 'k', headers }, requestOf(system, turn), 'named').id;

  test('every step of a conversation without a name has one id', () => {
    expect(id('k', 'rules', 'hi', 'yes?', 'more')).toBe(id('k', 'rules', 'hi'));
    expect(id('k', long('a'), long('b'), 'yes?', 'more')).toBe(id('k', long('a'), long('b')));
  });

  test("an agent's billing line, which another request has with another hash, is in no id", () => {
    const line = (hash: string) => `x-anthropic-billing-header: cc_version=2; cch=${hash};\n`;
    expect(id('k', `${line('36ee5')}rules`, 'hi')).toBe(id('k', `${line('0aaa9')}rules`, 'hi'));
    expect(id('k', `${line('36ee5')}rules`, 'hi')).not.toBe(id('k', `${line('36ee5')}rule`, 'hi'));
  });

  test('ids differ by key, by system prompt, by first question, and by the name alone where there is one', () => {
    const ids = [
      id('k', 'rules', 'hi'),
      id('l', 'rules', 'hi'),
      id('k', 'rule', 'hi'),
      id('k', 'rules', 'ho'),
      id('k', 'rules', long('a')),
      id('k', 'rules', long('b')),
      named('rules', 'hi'),
    ];
    expect(new Set(ids).size).toBe(ids.length);
    for (const one of ids) expect(one).toMatch(/^[0-9a-f]{32}$/);
    expect(named('other', 'other')).toBe(ids.at(-1));
  });
});
