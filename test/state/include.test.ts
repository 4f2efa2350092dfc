import OpenAI from 'openai';
import type { ResponseIncludable } from 'openai/resources/responses/responses';
import { expect, test } from 'vitest';
import { rejection } from '../support/error-of.ts';
import { useRouter } from '../support/local.ts';
import { modelOn, targetAt } from '../support/models.ts';

const model = 'state/responses';
const router = useRouter({
  catalog: [
    modelOn([targetAt('https://upstream.example', { protocol: 'responses', upstream: 'one' })], {
      ...{ id: model, vision: true },
    }),
  ],
  state: 'default',
});
const connect = () => new OpenAI({ baseURL: `${router().baseUrl}/v1`, apiKey: router().key });

/** Of the SDK's type, one of each. */
const NAMES = Object.keys({
  'file_search_call.results': true,
  'web_search_call.results': true,
  'web_search_call.action.sources': true,
  'message.input_image.image_url': true,
  'computer_call_output.output.image_url': true,
  'code_interpreter_call.outputs': true,
  'reasoning.encrypted_content': true,
  'message.output_text.logprobs': true,
} satisfies Record<ResponseIncludable, true>) as ResponseIncludable[];

const IMAGE = 'data:image/png;base64,iVBORw0KGgo=';

test('a read of a response has encrypted reasoning only if it includes it, and a continuation has it anyway', async () => {
  const client = connect();
  const created = await client.responses.create({
    ...{ model, input: 'think Let me see.\nsay Hello.' },
    include: ['reasoning.encrypted_content'],
  });
  const sealed = JSON.stringify(created.output);
  expect(sealed).toMatch(/"encrypted_content":"[^"]+"/);
  const plain = await client.responses.retrieve(created.id);
  expect(JSON.stringify(plain.output)).toContain('"encrypted_content":null');
  const whole = await client.responses.retrieve(created.id, { include: NAMES });
  expect(JSON.stringify(whole.output)).toBe(sealed);
  await client.responses.create({ model, input: 'say Bye.', previous_response_id: created.id });
  expect(JSON.stringify(router().upstreams.calls.at(-1)?.body)).toMatch(
    /"encrypted_content":"[^"]+"/,
  );
});

test('the input items have the address of an image only if they include it', async () => {
  const client = connect();
  const { id } = await client.responses.create({
    model,
    input: [
      {
        role: 'user',
        content: [
          { type: 'input_text', text: 'say Hello.' },
          { type: 'input_image', image_url: IMAGE, detail: 'auto' },
        ],
      },
    ],
  });
  const { data } = await client.responses.inputItems.list(id);
  expect(JSON.stringify(data)).not.toContain(IMAGE);
  const included = await client.responses.inputItems.list(id, {
    include: ['reasoning.encrypted_content', 'message.input_image.image_url'],
  });
  expect(JSON.stringify(included.data)).toContain(IMAGE);
});

test('an unknown member of include is a 400 with all names, of a response and of its items', async () => {
  const client = connect();
  const { id } = await client.responses.create({ model, input: 'say Hello.' });
  const include = ['message.unknown' as ResponseIncludable];
  for (const call of [
    client.responses.retrieve(id, { include }),
    client.responses.inputItems.list(id, { include }),
  ]) {
    const error = await rejection(call);
    expect(error).toMatchObject({ status: 400, param: 'include' });
    for (const name of NAMES) expect(String(error)).toContain(name);
  }
});
