import { expect, test } from 'vitest';
import { MODEL_ON, useRouter } from '../support/local.ts';

const router = useRouter();

const ask = (path: string, body: string, headers: Record<string, string> = {}) =>
  fetch(`${router().baseUrl}${path}`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${router().key}`,
      'content-type': 'application/json',
      ...headers,
    },
    body,
  });

test.each([
  ['/v1/chat/completions', '"messages":[{"role":"user","content":"say hi","__proto__":{"a":1}}]'],
  ['/v1/messages', '"max_tokens":9,"__proto__":1,"messages":[{"role":"user","content":"say hi"}]'],
  ['/v1/responses', '"store":false,"input":"say hi","metadata":{"__proto__":"a"}'],
])(
  'a member __proto__ of a request to %s is named as dropped, and refused if strict',
  async (path, fields) => {
    for (const model of Object.values(MODEL_ON)) {
      const body = `{"model":"${model}",${fields}}`;
      const answer = await ask(path, body);
      expect([answer.status, answer.headers.get('x-router-dropped')]).toEqual([200, '__proto__']);
      const strict = await ask(path, body, { 'x-router-strict': '1' });
      expect([strict.status, await strict.text()]).toEqual([
        400,
        expect.stringContaining('__proto__'),
      ]);
    }
  },
);
