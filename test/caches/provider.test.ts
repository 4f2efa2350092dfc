import { describe, expect, onTestFinished, test } from 'vitest';
import { createAnthropicCache } from '../support/caching-provider/anthropic-cache.ts';
import {
  ANTHROPIC,
  type Bill,
  billedInput,
  type CacheRules,
  OPENAI,
  unmarkedInput,
} from '../support/caching-provider/bill.ts';
import { createOpenAiCache } from '../support/caching-provider/openai-cache.ts';
import { startCachingProvider } from '../support/caching-provider/server.ts';
import { createManualClock } from '../support/manual-clock.ts';
import { send } from '../support/send.ts';

const MINUTE = 60_000;
const MARK = { cache_control: { type: 'ephemeral' } };
const HOUR_MARK = { cache_control: { type: 'ephemeral', ttl: '1h' } };
/** About as many tokens. */
const words = (tokens: number, name = 'w') => `${name} `.padEnd(tokens * 4, 'lorem ipsum ');
const text = (tokens: number, name?: string) => ({ type: 'text', text: words(tokens, name) });
const user = (...content: object[]) => ({ role: 'user', content });
const assistant = (...content: object[]) => ({ role: 'assistant', content });

/** One request that is answered at once. */
const ask = (cache: CacheRules, body: object, now = 0, account = 'a'): Bill => {
  const opening = cache.open(JSON.stringify(body), account, now);
  if (opening.rejection !== undefined) throw new Error(opening.rejection);
  opening.begin();
  return opening.bill;
};

const rejectionOf = (body: object): string | undefined =>
  createAnthropicCache().open(JSON.stringify(body), 'a', 0).rejection;

describe("the messages vendor's prompt cache", () => {
  const system = [{ ...text(5_000), ...MARK }];
  const base = { model: 'claude-sonnet-5', system, messages: [user(text(10))] };

  test('the first request writes its prefix, and one within five minutes reads it', () => {
    const cache = createAnthropicCache();
    const first = ask(cache, base);
    expect(first).toMatchObject({ read: 0, written1h: 0 });
    expect(first.written5m).toBeGreaterThan(4_990);
    expect(ask(cache, base, 4.9 * MINUTE)).toMatchObject({ read: first.written5m, written5m: 0 });
    expect(first.fresh).toBeLessThan(40);
  });

  test('a read renews the lifetime, which counts from the start of a request', () => {
    const cache = createAnthropicCache();
    ask(cache, base);
    expect(ask(cache, base, 4 * MINUTE).read).toBeGreaterThan(0);
    expect(ask(cache, base, 8 * MINUTE).read).toBeGreaterThan(0);
    expect(ask(cache, base, 13.1 * MINUTE).read).toBe(0);
  });

  test('a prefix below the minimum of the model is neither written nor read', () => {
    for (const [model, isStored] of [
      ['claude-opus-5', true],
      ['claude-sonnet-4-5', false],
      ['claude-haiku-4-5', false],
      ['claude-unheard-of', false],
    ] as const) {
      const body = { ...base, model, system: [{ ...text(600), ...MARK }] };
      const cache = createAnthropicCache();
      ask(cache, body);
      expect(ask(cache, body).read > 0, model).toBe(isStored);
    }
  });

  test.each([
    [
      'a fifth mark',
      { messages: [user(...Array.from({ length: 4 }, () => ({ ...text(9), ...MARK })))] },
      /A maximum of 4 .* Found 5\./,
    ],
    [
      'an hour behind five minutes',
      { messages: [user({ ...text(9), ...HOUR_MARK })] },
      /must not come after/,
    ],
    [
      'a mark on thinking',
      { messages: [user(text(9)), assistant({ type: 'thinking', thinking: 't', ...MARK })] },
      /thinking blocks cannot/,
    ],
    [
      'a mark on an empty text',
      { messages: [user({ type: 'text', text: '', ...MARK })] },
      /empty text/,
    ],
    [
      'an unknown lifetime',
      { messages: [user({ ...text(9), cache_control: { type: 'ephemeral', ttl: '2h' } })] },
      /Input should be '5m' or '1h'/,
    ],
  ])('%s is rejected', (_, change, expected) => {
    expect(rejectionOf({ ...base, ...change })).toMatch(expected);
    expect(rejectionOf(base)).toBeUndefined();
  });

  test.each([
    ['a block of the last twenty', 25, true],
    ['one before them', 5, false],
  ])(
    'of 30 blocks with one mark at the end, a change of %s leaves a hit: %s, %s',
    (_, changed, hits) => {
      const blocks = (name: (at: number) => string) =>
        Array.from({ length: 30 }, (__, at) => text(200, name(at + 1)));
      const bodyOf = (name: (at: number) => string, marked: number[]) => ({
        model: 'claude-sonnet-5',
        messages: [
          user(
            ...blocks(name).map((block, at) =>
              marked.includes(at + 1) ? { ...block, ...MARK } : block,
            ),
          ),
        ],
      });
      const cache = createAnthropicCache();
      // The entry before the changed block is that of an earlier request.
      ask(
        cache,
        bodyOf((at) => `block ${at}`, [changed - 1]),
      );
      ask(
        cache,
        bodyOf((at) => `block ${at}`, [30]),
      );
      const bill = ask(
        cache,
        bodyOf((at) => (at === changed ? 'changed' : `block ${at}`), [30]),
      );
      expect(bill.read > 0).toBe(hits);
    },
  );

  test('a run of calls, or of results, is one position of the window; on Bedrock each block is one', () => {
    const step = (n: number, mark = {}) => [
      assistant(
        ...Array.from({ length: 24 }, (_, at) => ({
          type: 'tool_use',
          id: `t${n}_${at}`,
          name: 'f',
          input: {},
        })),
      ),
      user(
        ...Array.from({ length: 24 }, (_, at) => ({
          type: 'tool_result',
          tool_use_id: `t${n}_${at}`,
          content: words(50),
          ...(at === 23 && mark),
        })),
      ),
    ];
    const start = user(text(5_000));
    const first = { model: 'claude-sonnet-5', messages: [start, ...step(1, MARK)] };
    const second = { model: 'claude-sonnet-5', messages: [start, ...step(1), ...step(2, MARK)] };
    const readWith = (runs: 'one' | 'each') => {
      const cache = createAnthropicCache({ runs });
      ask(cache, first);
      return ask(cache, second).read;
    };
    expect(readWith('one')).toBeGreaterThan(5_000);
    expect(readWith('each')).toBe(0);
  });

  test('up to the last mark of an hour is written for an hour, the rest up to the last mark for five minutes', () => {
    const cache = createAnthropicCache();
    const body = (extra: object[] = []) => ({
      model: 'claude-sonnet-5',
      system: [{ ...text(2_000, 'rules'), ...HOUR_MARK }],
      messages: [user({ ...text(3_000, 'question'), ...MARK }), ...extra],
    });
    const { fresh, written1h, written5m } = ask(cache, body([assistant(text(100, 'answer'))]));
    for (const [tokens, near] of [
      [fresh, 100],
      [written1h, 2_000],
      [written5m, 3_000],
    ] as const) {
      expect(Math.abs(tokens - near)).toBeLessThan(20);
    }
    // Six minutes later only the hour's is left.
    expect(ask(cache, body(), 6 * MINUTE)).toMatchObject({
      read: written1h,
      written1h: 0,
      written5m,
    });
  });

  test('a mark at the top level is that of the last block', () => {
    const cache = createAnthropicCache();
    const body = { model: 'claude-sonnet-5', ...MARK, messages: [user(text(2_000))] };
    expect(ask(cache, body)).toMatchObject({ fresh: 0, read: 0 });
    const longer = { ...body, messages: [...body.messages, assistant(text(9)), user(text(9))] };
    expect(ask(cache, longer).read).toBeGreaterThan(1_990);
  });

  test.each([
    [
      'a tool',
      {
        tools: [
          { name: 'f', description: words(2_000), input_schema: { type: 'object' }, ...MARK },
          { name: 'g', input_schema: {} },
        ],
      },
      'tools',
    ],
    [
      'the order of members',
      {
        tools: [
          { description: words(2_000), name: 'f', input_schema: { type: 'object' }, ...MARK },
        ],
      },
      'none',
    ],
    ['the choice of a tool', { tool_choice: { type: 'any' } }, 'system'],
    ['the effort', { output_config: { effort: 'low' } }, 'system'],
    ['nothing', {}, 'messages'],
  ])('a change of %s keeps what stands before it (%#)', (_, change, kept) => {
    const body = {
      model: 'claude-sonnet-5',
      tools: [{ name: 'f', description: words(2_000), input_schema: { type: 'object' }, ...MARK }],
      system: [{ ...text(2_000), ...MARK }],
      messages: [user({ ...text(2_000), ...MARK })],
    };
    const cache = createAnthropicCache();
    ask(cache, body);
    const { read } = ask(cache, { ...body, ...change });
    const parts = ['none', 'tools', 'system', 'messages'].indexOf(kept);
    expect(Math.round(read / 2_000)).toBe(parts);
  });

  test('white space and escapes are no change, the spelling of a number is one', () => {
    const cache = createAnthropicCache();
    const body = (number: string) =>
      `{"model":"claude-sonnet-5","tools":[{"name":"f","description":"${words(2_000)}","input_schema":{"minimum":${number}},"cache_control":{"type":"ephemeral"}}],"messages":[]}`;
    const open = (sent: string) => {
      const opening = cache.open(sent, 'a', 0);
      if (opening.rejection !== undefined) throw new Error(opening.rejection);
      opening.begin();
      return opening.bill.read;
    };
    open(body('1.0'));
    expect(
      open(body('1.0').replaceAll(':', ' :\n').replaceAll('lorem', '\\u006corem')),
    ).toBeGreaterThan(0);
    expect(open(body('1'))).toBe(0);
  });

  test('two requests at once on a cold prefix both write: an entry is read once the response has begun', () => {
    const cache = createAnthropicCache();
    const openings = [0, 0].map((now) => cache.open(JSON.stringify(base), 'a', now));
    for (const opening of openings) {
      if (opening.rejection !== undefined) throw new Error(opening.rejection);
      expect(opening.bill).toMatchObject({ read: 0 });
      opening.begin();
    }
    expect(ask(cache, base).read).toBeGreaterThan(0);
  });

  test('another model and another account have caches of their own', () => {
    const cache = createAnthropicCache();
    ask(cache, base);
    expect(ask(cache, { ...base, model: 'claude-opus-5' }).read).toBe(0);
    expect(ask(cache, base, 0, 'b').read).toBe(0);
    expect(ask(cache, base).read).toBeGreaterThan(0);
  });

  test('64 steps from 20,000 to 180,000 tokens cost 0.132 of what they cost unmarked', () => {
    const cache = createAnthropicCache();
    const history: object[] = [text(20_000)];
    const bills: Bill[] = [];
    for (let step = 0; step < 64; step += 1) {
      if (step > 0) history.push(text(160_000 / 63 - 12));
      const marked = history.map((block, at) =>
        at === history.length - 1 ? { ...block, ...MARK } : block,
      );
      bills.push(
        ask(cache, { model: 'claude-sonnet-5', messages: [user(...marked)] }, step * 20_000),
      );
    }
    expect(billedInput(bills, ANTHROPIC) / unmarkedInput(bills)).toBeCloseTo(0.132, 3);
    expect(Math.abs(unmarkedInput(bills) - 6_400_000)).toBeLessThan(64_000);
  });
});

describe("the chat vendor's prompt cache", () => {
  const bodyOf = (tokens: number, fields: object = {}) => ({
    model: 'gpt-5',
    messages: [{ role: 'user', content: words(tokens) }],
    ...fields,
  });

  test('a prefix of 1,024 tokens and 128 for each step is read, a shorter one is not', () => {
    const cache = createOpenAiCache();
    ask(cache, bodyOf(900));
    expect(ask(cache, bodyOf(900)).read).toBe(0);
    ask(cache, bodyOf(1_500));
    const { read, fresh } = ask(cache, bodyOf(1_500));
    expect(read).toBe(1_024 + 3 * 128);
    expect(read + fresh).toBeGreaterThan(1_500);
    const bill = { read, fresh, written5m: 0, written1h: 0 };
    expect(billedInput([bill], OPENAI)).toBeCloseTo(fresh + 0.1 * read, 6);
  });

  test('a longer prompt reads what it shares with a shorter one, a changed one up to the change', () => {
    const cache = createOpenAiCache();
    const first = bodyOf(4_000);
    ask(cache, first);
    const longer = {
      ...first,
      messages: [...first.messages, { role: 'user', content: words(500) }],
    };
    expect(ask(cache, longer).read).toBeGreaterThan(3_900);
    const changed = {
      ...first,
      messages: [{ role: 'user', content: `${words(2_000)}!${words(2_000)}` }],
    };
    const { read } = ask(cache, changed);
    expect(read).toBeGreaterThan(1_800);
    expect(read).toBeLessThan(2_100);
  });

  test('a prompt is kept for five minutes since its last use, or for a day if that is asked for', () => {
    for (const [fields, gap, isKept] of [
      [{}, 4, true],
      [{}, 6, false],
      [{ prompt_cache_retention: '24h' }, 600, true],
    ] as const) {
      const cache = createOpenAiCache();
      ask(cache, bodyOf(2_000, fields));
      expect(ask(cache, bodyOf(2_000, fields), gap * MINUTE).read > 0).toBe(isKept);
    }
  });

  test('the key chooses the machine, and a machine takes 15 requests of one prefix and key a minute', () => {
    const cache = createOpenAiCache();
    ask(cache, bodyOf(2_000, { prompt_cache_key: 'one' }));
    expect(ask(cache, bodyOf(2_000, { prompt_cache_key: 'two' })).read).toBe(0);
    const reads = Array.from(
      { length: 16 },
      () => ask(cache, bodyOf(2_000, { prompt_cache_key: 'one' })).read > 0,
    );
    expect(reads).toEqual([...Array(14).fill(true), false, true]);
  });
});

describe('the provider', () => {
  const startFor = async (wire: 'chat' | 'messages') => {
    const clock = createManualClock(0);
    const cache = wire === 'chat' ? createOpenAiCache() : createAnthropicCache();
    const provider = await startCachingProvider({ wire, cache, clock });
    onTestFinished(provider.close);
    const post = (body: object) =>
      send(provider.url, '/', {
        method: 'POST',
        headers: { authorization: 'Bearer one' },
        body: JSON.stringify(body),
      });
    return { provider, post };
  };

  test.each(['messages', 'chat'] as const)(
    'a response of %s states what the log has',
    async (wire) => {
      const { provider, post } = await startFor(wire);
      const body = { model: 'claude-sonnet-5', messages: [user({ ...text(2_000), ...MARK })] };
      await post(body);
      const { usage } = JSON.parse((await post(body)).text);
      const read = usage.cache_read_input_tokens ?? usage.prompt_tokens_details.cached_tokens;
      expect(read).toBeGreaterThan(1_500);
      expect(provider.log.map((bill) => bill.read)).toEqual([0, read]);
      const streamed = await post({ ...body, stream: true });
      expect(streamed.text).toContain(
        `"${wire === 'chat' ? 'cached_tokens' : 'cache_read_input_tokens'}":${read}`,
      );
    },
  );

  test('what it rejects and what fails is not billed', async () => {
    const { provider, post } = await startFor('messages');
    const marks = Array.from({ length: 5 }, () => ({ ...text(9), ...MARK }));
    const rejected = await post({ model: 'm', messages: [user(...marks)] });
    expect(rejected.status).toBe(400);
    expect(rejected.text).toContain('Found 5.');
    provider.state.status = 529;
    expect((await post({ model: 'm', messages: [] })).status).toBe(529);
    expect(provider.log).toEqual([]);
  });
});
