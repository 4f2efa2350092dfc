import { expect, test } from 'vitest';
import { sampleOf } from '../../../local/embedded-upstream/schema-sample.ts';

test('a sample contains only the required properties of a schema', () => {
  const schema = {
    type: 'object',
    properties: {
      city: { type: 'string' },
      unit: { enum: ['celsius', 'kelvin'] },
      days: { type: 'integer', minimum: 1 },
      tags: { type: 'array', minItems: 1, items: { type: ['string', 'null'] } },
      exact: { type: 'boolean' },
      note: { type: 'string' },
    },
    required: ['city', 'unit', 'days', 'tags', 'exact'],
  };
  expect(sampleOf(schema)).toEqual({
    city: 'text',
    unit: 'celsius',
    days: 1,
    tags: ['text'],
    exact: false,
  });
});

test('a sample follows references into the schema', () => {
  const schema = {
    $defs: { Step: { type: 'object', properties: { n: { const: 7 } }, required: ['n'] } },
    anyOf: [{ $ref: '#/$defs/Step' }, { type: 'null' }],
  };
  expect(sampleOf(schema)).toEqual({ n: 7 });
});

test('a sample of a schema that requires itself is finite', () => {
  const schema = { type: 'object', properties: { next: { $ref: '#' } }, required: ['next'] };
  expect(JSON.stringify(sampleOf(schema)).length).toBeLessThan(500);
});
