import OpenAI from 'openai';
import { expect, test } from 'vitest';
import { createCountingClock } from '../support/counting-clock.ts';
import { startFleet } from '../support/fleet.ts';
import { startGenerationUpstream } from '../support/generation-upstream.ts';
import { CANARIES } from '../support/leak-watch.ts';
import { modelOf } from '../support/models.ts';

test('what the OpenAI SDK adds to the items of a response is not sent back to their provider', async () => {
  const upstream = await startGenerationUpstream();
  const models = [modelOf('responses', upstream.url)];
  const clock = createCountingClock(Date.UTC(2026, 10, 21, 12));
  const fleet = await startFleet({ models, clock, secret: CANARIES.upstreamKey });
  const client = new OpenAI({ baseURL: `${fleet.urls[0]}/v1`, apiKey: fleet.key, maxRetries: 0 });
  const asked = { model: 'vendor/responses', store: false };
  const input: OpenAI.Responses.ResponseInput = [{ role: 'user', content: 'say hello' }];
  const { output } = await client.responses.stream({ ...asked, input }).finalResponse();
  const called = {
    ...{ type: 'function_call' as const, call_id: 'call_1', name: 'f', arguments: '{"a":1.0}' },
    parsed_arguments: null,
  };
  expect(JSON.stringify(output)).toContain('"parsed":null');
  const said = [...output, called, { type: 'function_call_output', call_id: 'call_1', output: '' }];
  await client.responses.create({
    ...asked,
    input: [...input, ...said] as OpenAI.Responses.ResponseInput,
  });
  const [, sent] = upstream.take();
  expect(sent?.text).not.toContain('parsed');
  expect(sent?.body.input).toEqual(
    JSON.parse(JSON.stringify([...input, ...said]), (name, value) =>
      name.startsWith('parsed') ? undefined : value,
    ),
  );
  await fleet.close();
  await upstream.close();
});
