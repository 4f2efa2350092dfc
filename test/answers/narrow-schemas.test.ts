import { expect, test } from 'vitest';
import { PRESETS } from '../../lambdas/catalog/profiles.ts';
import { modelOn, targetAt } from '../support/models.ts';
import { send } from '../support/send.ts';
import { withStrictFleet } from './strict-fleet.ts';

/** What agents write in the schemas of their tools, and Google does not support. */
const WIDE = {
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  type: 'object',
  properties: { path: { type: 'string', minLength: 1, default: 'a' }, const: { const: 'b' } },
  required: ['path'],
};
const NARROW = { type: 'object', properties: { path: { type: 'string' }, const: {} } };

const strict = withStrictFleet(({ urls }) => [
  ...[PRESETS['gemini-3'], {}].map((profile, at) =>
    modelOn([targetAt(urls.gemini, { protocol: 'gemini', ...profile })], { id: `narrow/${at}` }),
  ),
  modelOn([targetAt(urls.chat, { profile: { schemaWithout: ['title', 'format'] } })], {
    id: 'narrow/titles',
  }),
]);

const ask = async (model: string, parameters: object = WIDE) => {
  strict.upstream.script({
    meant: {
      ...{ text: '{}', calls: [], finish: 'stop' },
      usage: { input: 7, cached: 0, output: 3 },
    },
    ...{ form: { isWhole: false, isAscii: true, units: [3] }, sizes: [1_000] },
  });
  const { status } = await send(strict.fleet.urls[0] ?? '', '/v1/chat/completions', {
    ...{ method: 'POST', headers: { 'x-api-key': strict.fleet.key } },
    body: JSON.stringify({
      ...{ model, messages: [{ role: 'user', content: 'hi' }] },
      tools: [{ type: 'function', function: { name: 'read', parameters } }],
      response_format: { type: 'json_schema', json_schema: { name: 'a', schema: WIDE } },
    }),
  });
  return { status, received: strict.upstream.take() };
};

test('a target with the preset gemini-3 gets schemas without the keywords that Google does not support', async () => {
  const { status, received } = await ask('narrow/0');
  expect(status).toBe(200);
  expect(received).toMatchObject([
    {
      rejections: [],
      body: {
        tools: [{ functionDeclarations: [{ parametersJsonSchema: NARROW }] }],
        generationConfig: { responseJsonSchema: NARROW },
      },
    },
  ]);
});

test('without the preset the strict upstream of Google rejects them', async () => {
  const { received } = await ask('narrow/1');
  expect(received[0]?.rejections.join('\n')).toMatch(/parametersJsonSchema\.\$schema/);
  expect(received[0]?.rejections.join('\n')).toMatch(
    /responseJsonSchema\.properties\.path\.default/,
  );
});

test('the values that a schema holds stay as they are where its keywords of the same names are removed', async () => {
  const value = { title: 'Log', format: 'csv' };
  const values = { default: value, enum: [value], examples: [value] };
  const other = { ...values, title: 'Other', format: 'date' };
  const properties = (schema: object) => ({ type: 'object', properties: { title: schema } });
  const { received } = await ask('narrow/titles', properties(other));
  const [sent] = received.map(({ body }) => body);
  expect(sent).toMatchObject({ tools: [{ function: { parameters: properties(values) } }] });
  expect(JSON.stringify(sent)).not.toContain('Other');
});
