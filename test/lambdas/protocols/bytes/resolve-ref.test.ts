import { expect, test } from 'vitest';
import { resolveRef } from '../../../../lambdas/protocols/bytes/json.ts';

const root = {
  $defs: { plain: 'plain', 'a/b': 'slash', 'a~b': 'tilde', '~1': 'both', 'List<a>': 'angle' },
  anyOf: ['first', { type: 'second' }],
};

test.each([
  ['#', root],
  ['#/$defs/plain', 'plain'],
  ['#/$defs/a~1b', 'slash'],
  ['#/$defs/a~0b', 'tilde'],
  ['#/$defs/~01', 'both'],
  ['#/$defs/List%3Ca%3E', 'angle'],
  ['#/$defs/List<a>', 'angle'],
  ['#/anyOf/1/type', 'second'],
  ['#/$defs/a%b', undefined],
  ['#/$defs/plain/deeper', undefined],
])('%s resolves as JSON Pointer defines', (ref, target) => {
  expect(resolveRef(root, ref)).toEqual(target);
});
