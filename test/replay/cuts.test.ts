import Anthropic from '@anthropic-ai/sdk';
import OpenAI from 'openai';
import { expect, onTestFinished, test } from 'vitest';
import { startCuttingProxy } from './cutting-proxy.ts';
import { startReplayBench } from './replay-bench.ts';

/** Every how many bytes of a response a connection is cut; the soak cuts at each. */
const STRIDE = Number(process.env.REPLAY_STRIDE ?? 211);

type Connection = { url: string; key: string; idempotencyKey: string };

const MESSAGES = [{ role: 'user' as const, content: 'hi' }];
const MODEL = 'vendor/model';

const optionsOf = ({ idempotencyKey }: Connection) => ({
  headers: { 'Idempotency-Key': idempotencyKey },
  maxRetries: 0,
});

const openai = ({ url, key }: Connection) => new OpenAI({ baseURL: `${url}/v1`, apiKey: key });
const anthropic = ({ url, key }: Connection) => new Anthropic({ baseURL: url, apiKey: key });

/** The text that an official SDK reads. */
const CALLERS: Record<string, (to: Connection) => Promise<string>> = {
  'chat, whole': async (to) => {
    const request = { model: MODEL, messages: MESSAGES };
    const { choices } = await openai(to).chat.completions.create(request, optionsOf(to));
    return choices[0]?.message.content ?? '';
  },
  'chat, streamed': async (to) => {
    const request = { model: MODEL, messages: MESSAGES, stream: true } as const;
    let text = '';
    let finish: string | null | undefined;
    for await (const { choices } of await openai(to).chat.completions.create(
      request,
      optionsOf(to),
    )) {
      text += choices[0]?.delta.content ?? '';
      finish = choices[0]?.finish_reason ?? finish;
    }
    // The SDK takes a connection that ends without a finish reason for a complete response.
    if (finish !== 'stop') throw new Error('The stream has no end.');
    return text;
  },
  'messages, whole': async (to) => {
    const request = { model: MODEL, max_tokens: 100, messages: MESSAGES };
    const { content } = await anthropic(to).messages.create(request, optionsOf(to));
    return content.map((block) => (block.type === 'text' ? block.text : '')).join('');
  },
  'messages, streamed': async (to) => {
    const request = { model: MODEL, max_tokens: 100, messages: MESSAGES };
    return anthropic(to).messages.stream(request, optionsOf(to)).finalText();
  },
  'responses, whole': async (to) => {
    const request = { model: MODEL, input: MESSAGES };
    return (await openai(to).responses.create(request, optionsOf(to))).output_text;
  },
  'responses, streamed': async (to) => {
    const request = { model: MODEL, input: MESSAGES, stream: true } as const;
    let text = '';
    let isComplete = false;
    for await (const event of await openai(to).responses.create(request, optionsOf(to))) {
      if (event.type === 'response.output_text.delta') text += event.delta;
      isComplete ||= event.type === 'response.completed';
    }
    if (!isComplete) throw new Error('The stream has no end.');
    return text;
  },
};

/** Repeats a request until a response is complete, as a caller does. */
const untilComplete = async (ask: () => Promise<string>): Promise<string> => {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await ask();
    } catch (error) {
      if (attempt === 3) throw error;
    }
  }
};

test.each(Object.entries(CALLERS))(
  'a connection that is cut at any byte costs one upstream call and one unit, and the SDK gets the same text: %s',
  async (_, ask) => {
    const { fleet, upstream } = await startReplayBench({ size: 1 });
    const proxy = await startCuttingProxy(fleet.urls[0] ?? '');
    onTestFinished(proxy.close);
    let number = 0;
    const nextConnection = () => {
      number += 1;
      return { url: proxy.url, key: fleet.key, idempotencyKey: `key-${number}` };
    };
    const uncut = await ask(nextConnection());
    const length = proxy.lastBytes();
    expect(length).toBeGreaterThan(500);
    for (let cut = 0; cut < length; cut += STRIDE) {
      const to = nextConnection();
      proxy.cutNextAfter(cut);
      const text = await untilComplete(() => ask(to));
      expect([cut, text]).toEqual([cut, uncut.replace('1', String(number))]);
    }
    expect(upstream.calls).toHaveLength(number);
    await expect.poll(() => fleet.charged()).toBe(number);
  },
  3_600_000,
);
