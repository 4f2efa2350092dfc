import { expect, test } from 'vitest';
import { compilePattern } from '../../../lambdas/http/read-address.ts';

test.each([
  ['/v1/models', '/v1/models', {}],
  ['/v1/models', '/v1/models/', undefined],
  ['/v1/models', '/v1/modelsx', undefined],
  ['/plans/{plan}', '/plans/a', { plan: 'a' }],
  ['/plans/{plan}', '/plans/a%2Fb', { plan: 'a/b' }],
  ['/plans/{plan}', '/plans/a/b', undefined],
  ['/plans/{plan}', '/plans/', undefined],
  ['/plans/{plan}', '/plans/%', undefined],
  ['/{project}/keys/{key}', '/p/keys/k', { project: 'p', key: 'k' }],
  ['/{project}/keys/{key}', '/p/kex/k', undefined],
])('the pattern %s matches %s as %o', (pattern, path, parameters) => {
  expect(compilePattern(pattern)(path)).toEqual(parameters);
});

test.each([
  ['/v1/models/{id}', '/v1/models/a/b', { id: 'a/b' }],
  ['/v1/models/{id}', '/v1/models/a%2Fb', { id: 'a/b' }],
  ['/v1/models/{id}', '/v1/models/a/', undefined],
  ['/v1/models/{id}', '/v1/models/', undefined],
  ['/v1/usage', '/v1/usage', {}],
  ['/v1/usage', '/v1/usage/more', undefined],
])('the pattern %s with a rest parameter matches %s as %o', (pattern, path, parameters) => {
  expect(compilePattern(pattern, 'rest')(path)).toEqual(parameters);
});
