import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { post, useRouter } from '../support/local.ts';
import { ERROR_ROWS } from './error-rows.ts';
import { ERRORS_PAGE, errorsPage, textsWithRows } from './errors-page.ts';

const router = useRouter();
const page = () => readFileSync(ERRORS_PAGE, 'utf8');

test('docs/errors.md has every error text of the code, each with a cause and a remedy: npm run errors', () => {
  const texts = textsWithRows();
  expect(texts.length).toBeGreaterThan(200);
  expect(texts.filter(({ row }) => row === undefined)).toEqual([]);
  const unused = Object.values(ERROR_ROWS).flat();
  expect(unused.filter((row) => !texts.some((text) => text.row === row))).toEqual([]);
  expect(page()).toBe(errorsPage());
});

const CHAT = '/v1/chat/completions';
const HELLO = { model: 'aurora/scribe-1', messages: [{ role: 'user', content: 'hello' }] };

/** Whether the page has a text, in which `…` stands for anything. */
const hasText = (text: string): boolean =>
  [...page().matchAll(/\d{3} `(.*?)`(?=<br>| \|)/g)].some(([, listed = '']) => {
    if (listed === '…: ….') return /^[\w.]+: [^.]+\.$/.test(text);
    const parts = listed.split('…').map((part) => part.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&'));
    return new RegExp(`^${parts.join('[\\s\\S]*')}`).test(text);
  });

test.each<[path: string, body: object, key?: string]>([
  [CHAT, { ...HELLO, model: 'nobody/none' }],
  [CHAT, { ...HELLO, messages: 'hello' }],
  [CHAT, { ...HELLO, messages: [] }],

  [CHAT, { ...HELLO, tool_choice: { type: 'function', function: { name: 'none' } } }],
  [CHAT, HELLO, 'mrk_live_wrong'],
  ['/v1/embeddings', HELLO],
  ['/v1/unknown', HELLO],
  ['/v1/requests/req_none/cancel', {}],
  ['/admin/projects', { id: 'local' }],
  ['/admin/projects/none/keys', { plan: 'local' }],
  ['/admin/projects/local/keys', { plan: 'none' }],
  ['/admin/plans', { id: 'x' }],
])('the error of a request to %s with %j is on docs/errors.md', async (path, body, key) => {
  const response = await post(router(), path, body, key === undefined ? {} : { key });
  expect(response.ok).toBe(false);
  const { error } = (await response.json()) as { error: { message: string } };
  expect(hasText(error.message), error.message).toBe(true);
});
