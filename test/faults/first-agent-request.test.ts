import { afterAll, beforeAll, expect, test } from 'vitest';
import { createCountingClock } from '../support/counting-clock.ts';
import { type Fleet, startFleet } from '../support/fleet.ts';
import {
  type Generated,
  type GenerationUpstream,
  startGenerationUpstream,
} from '../support/generation-upstream.ts';
import { CANARIES } from '../support/leak-watch.ts';
import { modelOn, targetAt } from '../support/models.ts';
import { send } from '../support/send.ts';

/** What Bedrock checks of a request of Claude Code, one after the other. */
const rejectionOf = ({ headers, text }: Generated): string | undefined => {
  const betas = String(headers['anthropic-beta'] ?? '').split(',');
  if (betas.some((beta) => beta && !beta.startsWith('interleaved-thinking'))) {
    return 'invalid beta flag';
  }
  if (text.includes('"scope"')) {
    return 'system.0.cache_control.ephemeral.scope: Extra inputs are not permitted';
  }
  return text.includes('"eager_input_streaming"')
    ? 'tools.0.custom.eager_input_streaming: Extra inputs are not permitted'
    : undefined;
};

let upstream: GenerationUpstream;
let fleet: Fleet;
beforeAll(async () => {
  upstream = await startGenerationUpstream(rejectionOf);
  const target = targetAt(upstream.url, { protocol: 'messages', model: 'm', upstream: 'bedrock' });
  fleet = await startFleet({
    models: [modelOn([target], { id: 'v/m' })],
    clock: createCountingClock(Date.UTC(2026, 10, 24, 12)),
    secret: CANARIES.upstreamKey,
  });
});
afterAll(async () => {
  await fleet.close();
  await upstream.close();
});

const ask = async () => {
  const { status, headers } = await send(fleet.urls[0] ?? '', '/v1/messages', {
    method: 'POST',
    headers: {
      'x-api-key': fleet.key,
      'anthropic-beta':
        'claude-code-20250219,interleaved-thinking-2025-05-14,context-management-2025-06-27,prompt-caching-scope-2026-01-05',
    },
    body: JSON.stringify({
      model: 'v/m',
      max_tokens: 100,
      system: [{ type: 'text', text: 'a', cache_control: { type: 'ephemeral', scope: 'global' } }],
      messages: [{ role: 'user', content: 'b' }],
      tools: [{ name: 'f', input_schema: { type: 'object' }, eager_input_streaming: true }],
      context_management: { edits: [{ type: 'clear_thinking_20251015', keep: 'all' }] },
    }),
  });
  return { status, dropped: headers['x-router-dropped'], calls: upstream.take() };
};

test("Claude Code's first request passes a provider that rejects four of its differences, each by its own call", async () => {
  const first = await ask();
  expect([first.status, first.calls.length]).toEqual([200, 5]);
  expect(first.dropped).toBe(
    'system[].cache_control.scope, tools[].eager_input_streaming, anthropic-beta',
  );
  const next = await ask();
  expect([next.status, next.calls.length, next.calls[0]?.body]).toEqual([
    200,
    1,
    first.calls.at(-1)?.body,
  ]);
});
