import { describe, expect, onTestFinished, test } from 'vitest';
import { PRESETS } from '../../lambdas/catalog/profiles.ts';
import { systemClock } from '../../lambdas/support/clock.ts';
import { startFleet } from '../support/fleet.ts';
import { startMisbehaving } from '../support/misbehaving-server.ts';
import { modelOn, targetAt } from '../support/models.ts';
import { send } from '../support/send.ts';
import { helloAt } from '../support/strict-upstream/vendors.ts';
import { PATHS } from './strict-fleet.ts';

/** As other vendors issue them: OpenAI rejects more than 40 characters. */
const LONG = `toolu_vrtx_${'01AbCdEfGh'.repeat(5)}`;
const OTHER = `${LONG}x`;
const CALLS = [LONG, OTHER, 'call_short'];

const BODIES = {
  chat: {
    messages: [
      { role: 'user', content: 'hi' },
      {
        ...{ role: 'assistant', content: null },
        tool_calls: CALLS.map((id) => ({
          ...{ id, type: 'function', function: { name: 'read', arguments: '{}' } },
        })),
      },
      ...CALLS.map((id) => ({ role: 'tool', tool_call_id: id, content: 'done' })),
    ],
  },
  messages: {
    max_tokens: 64,
    messages: [
      { role: 'user', content: 'hi' },
      {
        role: 'assistant',
        content: CALLS.map((id) => ({ type: 'tool_use', id, name: 'read', input: {} })),
      },
      {
        role: 'user',
        content: CALLS.map((id) => ({ type: 'tool_result', tool_use_id: id, content: 'done' })),
      },
    ],
  },
  responses: {
    input: [
      { role: 'user', content: 'hi' },
      ...CALLS.map((id) => ({
        ...{ type: 'function_call', call_id: id, name: 'read', arguments: '{}' },
      })),
      ...CALLS.map((id) => ({ type: 'function_call_output', call_id: id, output: 'done' })),
    ],
  },
};

type Sent = { messages: { tool_calls?: { id: string }[]; tool_call_id?: string }[] };

const idsIn = ({ messages }: Sent) => ({
  called: messages.flatMap(({ tool_calls: calls = [] }) => calls.map(({ id }) => id)),
  answered: messages.flatMap(({ tool_call_id: id }) => id ?? []),
});

/** A provider of chat with OpenAI's limit, and its words. */
const start = async (profile?: 'gpt-5') => {
  const lastSent = (): Sent => JSON.parse(upstream.seen.at(-1)?.text ?? '');
  const upstream = await startMisbehaving((response, { url = '' }) => {
    const { called, answered } = idsIn(lastSent());
    const long = [...called, ...answered].find((id) => id.length > 40);
    if (long === undefined) {
      return response.writeHead(200, { 'content-type': 'text/event-stream' }).end(helloAt(url));
    }
    const message = `Invalid 'messages[1].tool_calls[0].id': string too long. Expected a string with maximum length 40, but got a string with length ${long.length} instead.`;
    const error = { message, type: 'invalid_request_error', code: 'string_above_max_length' };
    return response
      .writeHead(400, { 'content-type': 'application/json' })
      .end(JSON.stringify({ error }));
  });
  const target = targetAt(upstream.url, profile && { profile: PRESETS[profile] });
  const fleet = await startFleet({ models: [modelOn([target])], clock: systemClock });
  onTestFinished(() => fleet.close());
  const ask = async (wire: keyof typeof BODIES) => {
    const { status, text } = await send(fleet.urls[0] ?? '', PATHS[wire], {
      ...{ method: 'POST', headers: { 'x-api-key': fleet.key } },
      body: JSON.stringify({ model: 'vendor/model', stream: true, ...BODIES[wire] }),
    });
    expect(status, text).toBe(200);
    return idsIn(lastSent());
  };
  return { upstream, ask };
};

describe.each(['chat', 'messages', 'responses'] as const)('a caller of %s', (wire) => {
  test('call ids above 40 characters reach a provider with that limit shortened, different and alike each time', async () => {
    const { upstream, ask } = await start('gpt-5');
    const { called, answered } = await ask(wire);
    expect(new Set(called).size).toBe(3);
    expect(called[2]).toBe('call_short');
    expect(answered).toEqual(called);
    expect((await ask(wire)).called).toEqual(called);
    expect(upstream.seen).toHaveLength(2);
  });

  test('a provider that is not known to have the limit is asked again with shortened ids, and then at once', async () => {
    const { upstream, ask } = await start();
    const { called } = await ask(wire);
    expect(Math.max(...called.map(({ length }) => length))).toBeLessThanOrEqual(40);
    expect(upstream.seen).toHaveLength(2);
    await ask(wire);
    expect(upstream.seen).toHaveLength(3);
  });
});
