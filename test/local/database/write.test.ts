import { afterAll, beforeAll, expect, test } from 'vitest';
import { type DynamoClient, DynamoError } from '../../../lambdas/stores/dynamo/dynamo-client.ts';
import { type Condition, joined, type Write } from '../../../lambdas/stores/dynamo/item-write.ts';
import { startDynamo, TABLE_NAMES, type TestDynamo } from '../../support/dynamo.ts';
import { startMemory } from '../../support/memory-stores.ts';
import { fc, share } from '../../support/seeds.ts';

const ATTRIBUTES = ['a', 'b', 'c'];
const NUMBERS = [0, 1, 2];
const name = fc.constantFrom(...ATTRIBUTES);
const number = fc.constantFrom(...NUMBERS);
/** No store compares a list, and the embedded DynamoDB takes equal lists for different. */
const scalar = fc.constantFrom(...NUMBERS, 'one', 'one two');
/** DynamoDB refuses to compare two lists. */
const givenTo = (attribute: string) =>
  attribute === 'c' ? fc.oneof(scalar, fc.constant(['one', 1])) : scalar;
const ORDERS = ['<', '<=', '>', '>='] as const;

const simple: fc.Arbitrary<Condition> = fc.oneof(
  fc.tuple(name, fc.constantFrom('is absent' as const, 'is present' as const)),
  fc.tuple(name, fc.constantFrom('=' as const, '<>' as const, '= or absent' as const), scalar),
  fc.tuple(name, fc.constantFrom(...ORDERS), fc.oneof(number, fc.constant('one'))),
  fc.tuple(name, fc.constantFrom('< or absent' as const, '>= or absent' as const), number),
  fc.tuple(name, fc.constant('lacks' as const), fc.constant('two')),
);

const conditions: fc.Arbitrary<Condition[]> = fc.array(
  fc.oneof(
    simple,
    // The embedded DynamoDB takes two attributes that are absent for equal, and refuses parentheses around what needs none.
    fc.constantFrom(...ORDERS).map(
      (operator): Condition => ({
        anyOf: [
          [['a', 'is absent']],
          [
            ['a', operator, { attribute: 'b' }],
            ['b', 'is present'],
          ],
        ],
      }),
    ),
    fc
      .array(fc.array(simple, { minLength: 1, maxLength: 2 }), { minLength: 2, maxLength: 3 })
      .map((anyOf): Condition => ({ anyOf })),
  ),
  { maxLength: 3 },
);

const action = (attribute: string): fc.Arbitrary<Write> =>
  fc.oneof(
    givenTo(attribute).map((given) => ({ set: { [attribute]: given } })),
    fc.constant({ remove: [attribute] }),
    number.map((by) => ({ add: { [attribute]: by } })),
  );

/** Each attribute once: DynamoDB refuses two actions on one. */
const write: fc.Arbitrary<Write> = fc
  .subarray(ATTRIBUTES, { minLength: 1 })
  .chain((attributes) => fc.tuple(conditions, ...attributes.map(action)))
  .map(([required, ...actions]) => actions.reduce(joined, { conditions: required }));

/** The item that a write leaves, or the name of its error. */
const outcome = async (client: DynamoClient, pk: string, sent: Write): Promise<unknown> => {
  try {
    const input = { TableName: TABLE_NAMES.meters, Key: { pk }, write: sent };
    return (await client.call('UpdateItem', input)).Attributes;
  } catch (error) {
    return error instanceof DynamoError ? error.name : error;
  }
};

let dynamo: TestDynamo;
beforeAll(async () => {
  dynamo = await startDynamo();
});
afterAll(() => dynamo.close());

test('any writes leave in a database what they leave in DynamoDB', async () => {
  const { client } = await startMemory();
  let items = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(write, { minLength: 1, maxLength: 8 }), async (writes) => {
      items += 1;
      const pk = `item-${items}`;
      for (const sent of writes) {
        expect({ sent, left: await outcome(client, pk, sent) }).toEqual({
          sent,
          left: await outcome(dynamo.client, pk, sent),
        });
      }
    }),
    { numRuns: share(300, 3) },
  );
});
