import { DeleteCommand, ScanCommand } from '@aws-sdk/lib-dynamodb';
import { describe, expect, test } from 'vitest';
import * as z from 'zod';
import { TABLE_NAMES } from '../support/dynamo.ts';
import { LOCAL_AWS } from '../support/local-aws.ts';
import { createDocumentClient } from '../support/sdk-client.ts';
import { MODEL, type Stage, sendStep, startStage } from '../support/sessions/play.ts';

const MINUTE_MS = 60_000;
const words = (tokens: number, name: string) => `${name} `.padEnd(tokens * 4, 'lorem ipsum ');

const tool = (name: string) => ({
  type: 'function',
  function: { name, description: words(500, name), parameters: { type: 'object' } },
});

/** As responses has it. */
const flatTool = (name: string) => {
  const { type, function: own } = tool(name);
  return { type, ...own };
};

const base = (turns = 1) => ({
  model: MODEL,
  tools: [tool('read')],
  tool_choice: 'auto',
  messages: [
    { role: 'system', content: words(2_000, 'rules at 10:00') },
    ...Array.from({ length: turns }, (_, at) => [
      { role: 'user', content: words(400, `question ${at}`) },
      { role: 'assistant', content: `answer ${at}` },
    ]).flat(),
    { role: 'user', content: words(400, `question ${turns}`) },
  ],
});
type Body = ReturnType<typeof base>;

const Explained = z.looseObject({
  cache_marks: z.string(),
  cache: z
    .object({
      turn_before: z.string(),
      gap_ms: z.number(),
      expected_tokens: z.number(),
      read_tokens: z.number(),
      lost_by: z.string().nullable(),
      what: z.string(),
    })
    .nullable(),
});

const ask = async (stage: Stage, body: object, headers = {}): Promise<string> => {
  const request = { headers: { 'x-session-id': 'one-session', ...headers }, body: { ...body } };
  const sent = await sendStep(stage, { path: '/v1/chat/completions', request });
  expect(sent.status, sent.text).toBe(200);
  return String(sent.headers['x-request-id']);
};

const explained = async ({ fleet }: Stage, id: string) => {
  const url = `${fleet.urls[0]}/v1/requests/${id}`;
  const response = await fetch(url, { headers: { 'x-api-key': fleet.key } });
  expect(response.status).toBe(200);
  return Explained.parse(await response.json());
};

type Item = { pk: string; sk: string; entry: string; expiresAtSeconds: number };

/** The items of the records table, and what DynamoDB does with those that have expired. */
const openRecords = async ({ fleet }: Stage) => {
  const client = createDocumentClient({ ...LOCAL_AWS, endpoint: fleet.tablesUrl() });
  const TableName = TABLE_NAMES.records;
  const { Items = [] } = await client.send(new ScanCommand({ TableName }));
  return {
    items: Items as Item[],
    remove: async (items: Item[]) => {
      for (const { pk, sk } of items) {
        await client.send(new DeleteCommand({ TableName, Key: { pk, sk } }));
      }
    },
  };
};

const TARGETS = [{ upstream: 'first' }, { upstream: 'second' }];

const withSystem = (body: Body, content: string): Body => ({
  ...body,
  messages: body.messages.with(0, { role: 'system', content }),
});

type Lost = {
  by: string;
  words: RegExp;
  change?: (body: Body) => object;
  meanwhile?: (stage: Stage) => void;
};

const LOST: Lost[] = [
  {
    by: 'tools',
    words: /its tools changed/,
    change: (body) => ({ ...body, tools: [tool('write')] }),
  },
  {
    by: 'system',
    words: /its system prompt changed/,
    change: (body) => withSystem(body, words(2_000, 'rules at 10:01')),
  },
  {
    by: 'parameters',
    words: /tool choice, effort or response format changed/,
    change: (body) => ({ ...body, tool_choice: 'required' }),
  },
  {
    by: 'turn 3',
    words: /turn 3 of its history changed/,
    change: (body) => ({
      ...body,
      messages: body.messages.with(3, { role: 'user', content: words(400, 'summary') }),
    }),
  },
  {
    by: 'expired',
    words: /it came 360 s after the turn before/,
    meanwhile: ({ clock }) => clock.advance(6 * MINUTE_MS),
  },
  {
    by: 'target',
    words: /second\/claude-sonnet-5 served it, and first\/claude-sonnet-5 the turn before/,
    meanwhile: ({ providers }) => {
      const [first] = providers;
      if (first) first.state.status = 529;
    },
  },
  {
    by: 'provider',
    words: /its provider did not find it/,
    meanwhile: ({ providers }) => providers[0]?.evict(),
  },
];

describe('an explained request of a session', () => {
  test('a turn that reads what the turn before left has lost nothing', async () => {
    const stage = await startStage({ onDynamo: true, wire: 'messages', targets: TARGETS });
    const first = await ask(stage, base(3));
    stage.clock.advance(20_000);
    const second = await ask(stage, base(4));
    expect((await explained(stage, first)).cache).toBeNull();
    const { cache, cache_marks } = await explained(stage, second);
    expect(cache_marks).toBe('router');
    expect(cache).toMatchObject({ turn_before: first, gap_ms: 20_000, lost_by: null });
    expect(cache?.expected_tokens).toBeGreaterThan(3_000);
    expect(cache?.read_tokens).toBe(cache?.expected_tokens);
    expect(cache?.what).toMatch(/^The cache held: \d+ tokens were read of \d+ /);
  });

  test.each(LOST)(
    'a hit that is lost is explained by $by',
    async ({ by, words: said, ...lost }) => {
      const stage = await startStage({ onDynamo: true, wire: 'messages', targets: TARGETS });
      const first = await ask(stage, base(3));
      lost.meanwhile?.(stage);
      const second = await ask(stage, lost.change?.(base(4)) ?? base(4));
      const { cache } = await explained(stage, second);
      expect(cache).toMatchObject({ turn_before: first, lost_by: by });
      expect(cache?.what).toMatch(said);
      expect(cache?.read_tokens).toBeLessThan(cache?.expected_tokens ?? 0);
    },
  );

  test('tools that an item of the conversation adds are explained as changed tools', async () => {
    const stage = await startStage({ onDynamo: true, wire: 'messages' });
    const sendItems = async (input: object[]) => {
      const body = { model: MODEL, tools: [flatTool('read')], input };
      const request = { headers: { 'x-session-id': 'one-session' }, body };
      const sent = await sendStep(stage, { path: '/v1/responses', request });
      expect(sent.status, sent.text).toBe(200);
      return String(sent.headers['x-request-id']);
    };
    const question = { role: 'user', content: words(3_000, 'question') };
    const added = { type: 'additional_tools', role: 'developer', tools: [flatTool('late')] };
    await sendItems([question]);
    const second = await sendItems([question, added]);
    expect((await explained(stage, second)).cache?.lost_by).toBe('tools');
  });

  test('in a long session the changed turn is told to within its group', async () => {
    const stage = await startStage({ onDynamo: true, wire: 'messages' });
    await ask(stage, base(70));
    const long = base(71);
    const changed = long.messages.with(101, { role: 'user', content: words(400, 'changed') });
    const second = await ask(stage, { ...long, messages: changed });
    expect((await explained(stage, second)).cache?.lost_by).toBe('turns 101 to 104');
  });

  test('a target that caches by itself is expected to read the whole turn before', async () => {
    const stage = await startStage({ onDynamo: true, wire: 'chat' });
    await ask(stage, base(3));
    const held = await explained(stage, await ask(stage, base(4)));
    expect(held.cache?.lost_by).toBeNull();
    stage.providers[0]?.evict();
    const lost = await explained(stage, await ask(stage, base(5)));
    expect(lost.cache?.lost_by).toBe('provider');
  });

  test('a turn before that was not cached left nothing to read', async () => {
    const stage = await startStage({ onDynamo: true, wire: 'messages' });
    await ask(stage, base(3), { 'x-router-cache': 'off' });
    const { cache } = await explained(stage, await ask(stage, base(4)));
    expect(cache).toMatchObject({ expected_tokens: 0, read_tokens: 0, lost_by: null });
    expect(cache?.what).toBe('The turn before left no prompt in a cache.');
  });

  test.each([
    { place: 'in the middle of a turn', turns: 3, turn: 'turn 3', at: 2 },
    { place: 'in the last turn that was sent', turns: 3, turn: 'turn 7', at: 6 },
    { place: 'in a turn of long ago, of a long session', turns: 70, turn: 'turns 1 to 4', at: 2 },
  ])(
    'an edit that keeps the length of a text, $place, is found although most steps sum their latest turns only',
    async ({ turns, turn, at }) => {
      const stage = await startStage({ onDynamo: true, wire: 'messages' });
      const long = (count: number) => {
        const body = base(count);
        const [system, ...history] = body.messages;
        const padded = history.map(({ role, content }, index) =>
          index === at
            ? { role, content: `${words(40_000, content)} at 10:00 ${content}` }
            : { role, content },
        );
        return { ...body, messages: [system, ...padded] };
      };
      for (let step = turns - 3; step <= turns; step += 1) {
        await ask(stage, long(step));
        stage.clock.advance(10_000);
      }
      const edited = JSON.stringify(long(turns + 1)).replace(
        'at 10:00 question',
        'at 10:01 question',
      );
      const { cache } = await explained(stage, await ask(stage, JSON.parse(edited)));
      expect(cache?.lost_by).toBe(turn);
    },
  );

  test('hashes of parts are unreadable from 70 minutes after their request on, and without them a lost hit has no known cause', async () => {
    const stage = await startStage({ onDynamo: true, wire: 'messages' });
    const startedAt = stage.clock.now();
    await ask(stage, base(3));
    const second = await ask(stage, withSystem(base(4), words(2_000, 'rules at 10:01')));
    const { items, remove } = await openRecords(stage);
    const keys = items.filter(({ entry }) => 'key' in JSON.parse(entry));
    expect([keys.length, items.length]).toEqual([1, 3]);
    for (const { expiresAtSeconds } of keys) {
      expect(expiresAtSeconds).toBeLessThanOrEqual(startedAt / 1_000 + 70 * 60);
    }
    expect((await explained(stage, second)).cache?.lost_by).toBe('system');
    await remove(keys);
    const { cache } = await explained(stage, second);
    expect(cache).toMatchObject({ lost_by: 'unknown' });
    expect(cache?.what).toMatch(/known for an hour only/);
  });

  test('no record holds a text of the prompt, and those of two keys that send the same have no hash in common', async () => {
    const stage = await startStage({ onDynamo: true, wire: 'messages' });
    const sealedIn = async () => {
      const texts = Object.values(await stage.fleet.readTables()).join('');
      for (const text of ['rules at', 'question 0']) expect(texts).not.toContain(text);
      return [...texts.matchAll(/\\"sealed\\":\\"\w+\.([^\\]+)/g)].map(([, text = '']) => text);
    };
    await ask(stage, base(3));
    await ask(stage, base(3));
    // The same request of another key: the session's name is in both records, and no hash is.
    const other = { ...stage, fleet: { ...stage.fleet, key: stage.fleet.otherKey } };
    await ask(other, base(3));
    const sealed = await sealedIn();
    expect(sealed).toHaveLength(3);
    const pieces = sealed.flatMap((text) => text.match(/.{8}/g) ?? []);
    expect(new Set(pieces).size).toBe(pieces.length);
  });
});
