import { randomBytes } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { mintKey, readCredential } from '../../../lambdas/keys/api-key.ts';
import { errorOf } from '../../support/error-of.ts';

const KEY = mintKey(randomBytes);
const OTHER = mintKey(randomBytes);
const FOREIGN = 'sk-foreign-0123456789';

describe('the presented key is', () => {
  test.each<[string, Record<string, string>, string]>([
    ['the bearer token', { authorization: `Bearer ${KEY}` }, KEY],
    ['the bearer token in any case of the scheme', { authorization: `bEARER ${KEY}` }, KEY],
    ['the bearer token after several spaces', { authorization: `Bearer   ${KEY} ` }, KEY],
    ['x-api-key', { 'x-api-key': KEY }, KEY],
    ['x-api-key without the blanks around it', { 'x-api-key': ` \t${KEY}\t ` }, KEY],
    ['either when both are equal', { authorization: `Bearer ${KEY}`, 'x-api-key': KEY }, KEY],
    ['the one of ours (bearer)', { authorization: `Bearer ${KEY}`, 'x-api-key': FOREIGN }, KEY],
    ['the one of ours (x-api-key)', { authorization: `Bearer ${FOREIGN}`, 'x-api-key': KEY }, KEY],
    ['x-api-key next to a doubled header', { authorization: 'Bearer a, b', 'x-api-key': KEY }, KEY],
    ['x-api-key next to another scheme', { authorization: 'Basic YTpi', 'x-api-key': KEY }, KEY],
    ['x-api-key next to an empty bearer', { authorization: 'Bearer ', 'x-api-key': KEY }, KEY],
  ])('%s', (_, headers, expected) => {
    expect(readCredential(headers)).toBe(expected);
  });
});

describe('a missing or ambiguous key', () => {
  test.each<[string, Record<string, string>, RegExp]>([
    ['no header', {}, /missing/],
    ['empty headers', { authorization: '', 'x-api-key': '  ' }, /missing/],
    ['a bearer without a token', { authorization: 'Bearer' }, /missing/],
    ['another scheme', { authorization: `Basic ${KEY}` }, /missing/],
    ['a bare key', { authorization: KEY }, /missing/],
    ['a blank inside', { 'x-api-key': `${KEY} x` }, /invalid/],
    ['a doubled header', { 'x-api-key': `${KEY}, ${KEY}` }, /invalid/],
    ['a letter beyond ASCII', { 'x-api-key': `${KEY}é` }, /invalid/],
    ['a foreign one', { 'x-api-key': FOREIGN }, /invalid/],
    ['an endless one', { 'x-api-key': 'a'.repeat(257) }, /invalid/],
    [
      'two of ours, one of them as Azure sends it',
      { 'x-api-key': KEY, 'api-key': OTHER },
      /different keys/,
    ],
    ['two of ours', { authorization: `Bearer ${KEY}`, 'x-api-key': OTHER }, /different keys/],
    ['two foreign ones', { authorization: 'Bearer sk-a', 'x-api-key': 'sk-b' }, /different keys/],
  ])('%s', async (_, headers, message) => {
    expect(await errorOf(() => readCredential(headers))).toMatchObject({
      status: 401,
      type: 'authentication_error',
      message: expect.stringMatching(message),
      headers: { 'x-should-retry': 'false' },
    });
  });
});
