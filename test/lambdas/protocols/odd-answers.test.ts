import { expect, onTestFinished, test, vi } from 'vitest';
import { collect } from '../../../lambdas/protocols/collect.ts';
import type { GenerationEvent } from '../../../lambdas/protocols/generation.ts';
import { callerProtocols, upstreamProtocols } from '../../../lambdas/protocols/protocols.ts';
import { ChatCompletion } from '../../support/chat-schema.ts';
import { WholeMessage } from '../../support/messages-schema.ts';
import { LABEL, requestOf } from '../../support/translate.ts';

const MESSAGE = {
  id: 'msg_up1',
  type: 'message',
  role: 'assistant',
  content: [{ type: 'text', text: 'Hi' }],
  stop_reason: 'end_turn',
  usage: { input_tokens: 20, output_tokens: 7 },
};

async function* once(events: GenerationEvent[]): AsyncGenerator<GenerationEvent[]> {
  yield events;
}

/** What a caller of `to` is answered when an upstream of the messages family answers `wire`. */
const answerIn = async (to: 'chat' | 'messages', wire: object) => {
  const request = requestOf(to, { stream: false });
  const events = upstreamProtocols.messages.decodeResponse(wire, request);
  return callerProtocols[to].encodeResponse(await collect(once(events)), request, LABEL);
};

test('a count that nothing can be added to is no count', async () => {
  const wire = { ...MESSAGE, usage: { input_tokens: 1e308, output_tokens: 7 } };
  const body = ChatCompletion.parse(await answerIn('chat', wire));
  expect(body.usage).toMatchObject({ prompt_tokens: LABEL.estimatedInputTokens, total_tokens: 18 });
});

test('counts of an upstream’s own tools are complete, and nothing else goes with them', async () => {
  const usage = { ...MESSAGE.usage, server_tool_use: { web_search_requests: 2, account: 'x' } };
  const body = WholeMessage.parse(await answerIn('messages', { ...MESSAGE, usage }));
  expect(body.usage.server_tool_use).toEqual({ web_search_requests: 2, web_fetch_requests: 0 });
});

test('details of a stop that are no object are left out', async () => {
  const body = await answerIn('messages', { ...MESSAGE, stop_details: 'because' });
  expect(WholeMessage.parse(body).stop_details).toBeNull();
});

test('many calls without arguments are not parsed against each other', () => {
  const parse = vi.spyOn(JSON, 'parse');
  onTestFinished(() => parse.mockRestore());
  const call = { type: 'function', function: { name: 'time', arguments: '' } };
  const wire = {
    choices: [
      { message: { tool_calls: Array.from({ length: 300 }, () => call) }, finish_reason: 'stop' },
    ],
  };
  const events = upstreamProtocols.chat.decodeResponse(wire, requestOf('chat'));
  expect(events.filter(({ type }) => type === 'block-start')).toHaveLength(300);
  expect(parse.mock.calls.length).toBeLessThanOrEqual(300);
});
