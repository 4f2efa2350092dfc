import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  type DynamoCalls,
  type DynamoClient,
  DynamoError,
} from '../../../lambdas/stores/dynamo/dynamo-client.ts';
import { openMemoryKind } from '../../contracts/kinds.ts';
import { startDynamo, TABLE_NAMES, type TestDynamo } from '../../support/dynamo.ts';
import { fc } from '../../support/seeds.ts';

type Write = DynamoCalls['UpdateItem']['input'];

const ATTRIBUTES = ['a', 'b', 'c'];
const VALUES = {
  ':zero': 0,
  ':one': 1,
  ':two': 2,
  ':text': 'one',
  ':more': 'one two',
  ':list': ['one', 1],
};
const NUMBERS = [':zero', ':one', ':two'];

const name = fc.constantFrom(...ATTRIBUTES.map((attribute) => `#${attribute}`));
const value = fc.constantFrom(...Object.keys(VALUES));
/** No store compares a list, and the embedded DynamoDB takes equal lists for different. */
const scalar = value.filter((placeholder) => placeholder !== ':list');
const number = fc.constantFrom(...NUMBERS);

const simple = fc.oneof(
  fc
    .tuple(fc.constantFrom('attribute_exists', 'attribute_not_exists'), name)
    .map(([test, of]) => `${test}(${of})`),
  fc.tuple(name, fc.constantFrom('=', '<>'), scalar).map((parts) => parts.join(' ')),
  fc
    .tuple(name, fc.constantFrom('<', '<=', '>', '>='), fc.oneof(number, fc.constant(':text')))
    .map((parts) => parts.join(' ')),
  // The embedded DynamoDB takes two attributes that are absent for equal.
  fc
    .constantFrom('<', '<=', '>', '>=')
    .map((operator) => `(attribute_exists(#a) AND attribute_exists(#b) AND #a ${operator} #b)`),
  fc.tuple(name, scalar, scalar).map(([of, one, other]) => `${of} IN (${one}, ${other})`),
  fc.tuple(name, fc.constantFrom(':one', ':text')).map(([of, part]) => `contains(${of}, ${part})`),
);

const { condition } = fc.letrec<{ condition: string }>((tie) => ({
  condition: fc.oneof(
    { maxDepth: 3 },
    simple,
    fc
      .tuple(tie('condition'), fc.constantFrom('AND', 'OR'), tie('condition'))
      .map((parts) => parts.join(' ')),
    // DynamoDB refuses parentheses around what needs none.
    fc
      .tuple(tie('condition'), fc.constantFrom('AND', 'OR'), tie('condition'))
      .filter((parts) => !parts.some((part) => /^\(.*\)$/.test(part)))
      .map((parts) => `(${parts.join(' ')})`),
    simple.map((inner) => `NOT ${inner}`),
  ),
}));

const action = (attribute: string) =>
  fc.oneof(
    fc
      .oneof(
        value,
        // The embedded DynamoDB lets two attributes share a number, which a later write then changes in both.
        value.map((other) => `if_not_exists(#${attribute}, ${other})`),
        number.map((by) => `if_not_exists(#${attribute}, :zero) + ${by}`),
      )
      .map((right) => ({ verb: 'SET', text: `#${attribute} = ${right}` })),
    fc.constant({ verb: 'REMOVE', text: `#${attribute}` }),
    number.map((by) => ({ verb: 'ADD', text: `#${attribute} ${by}` })),
  );

/** Each attribute once: DynamoDB refuses two actions on one. */
const update = fc
  .subarray(ATTRIBUTES, { minLength: 1 })
  .chain((attributes) => fc.tuple(...attributes.map(action)))
  .map((actions) =>
    ['SET', 'REMOVE', 'ADD']
      .map((verb) => ({
        verb,
        texts: actions.filter((one) => one.verb === verb).map(({ text }) => text),
      }))
      .filter(({ texts }) => texts.length > 0)
      .map(({ verb, texts }) => `${verb} ${texts.join(', ')}`)
      .join(' '),
  );

const used = (bindings: object, text: string) =>
  Object.fromEntries(
    Object.entries(bindings).filter(([placeholder]) => new RegExp(`${placeholder}\\b`).test(text)),
  );

const writeOf = (pk: string, [updated, required]: [string, string | undefined]): Write => {
  const text = `${updated} ${required}`;
  const names = used(
    Object.fromEntries(ATTRIBUTES.map((attribute) => [`#${attribute}`, attribute])),
    text,
  );
  const values = used(VALUES, text);
  return {
    ...{
      TableName: TABLE_NAMES.meters,
      Key: { pk },
      UpdateExpression: updated,
      ReturnValues: 'ALL_NEW',
    },
    ...{ ConditionExpression: required, ReturnValuesOnConditionCheckFailure: 'ALL_OLD' },
    ExpressionAttributeNames: names,
    ...(Object.keys(values).length > 0 && { ExpressionAttributeValues: values }),
  };
};

/** The item that a write leaves, or the name of its error. */
const outcome = async (client: DynamoClient, write: Write): Promise<unknown> => {
  try {
    return (await client.call('UpdateItem', write)).Attributes;
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
  const { client } = await openMemoryKind();
  let items = 0;
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.tuple(update, fc.option(condition, { nil: undefined })), {
        minLength: 1,
        maxLength: 8,
      }),
      async (writes) => {
        items += 1;
        for (const write of writes) {
          const sent = writeOf(`item-${items}`, write);
          expect({ sent, left: await outcome(client, sent) }).toEqual({
            sent,
            left: await outcome(dynamo.client, sent),
          });
        }
      },
    ),
    { numRuns: 300 },
  );
});
