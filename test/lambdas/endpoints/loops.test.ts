import { describe, expect, onTestFinished, test } from 'vitest';
import { isLoop } from '../../../lambdas/endpoints/loops.ts';
import type { Turn } from '../../../lambdas/protocols/generation.ts';
import { callerProtocols } from '../../../lambdas/protocols/protocols.ts';
import { createRandom, type Random } from '../../simulation/random.ts';
import { startOnDynamo } from '../../support/dynamo-stores.ts';
import { scanTables } from '../../support/scan-tables.ts';
import { SEED } from '../../support/seeds.ts';
import { recorded } from '../../support/sessions/play.ts';

const RECORDED = ['claude-code', 'codex', 'cline', 'opencode-chat', 'opencode-messages'];
const NAMES = { '/v1/messages': 'messages', '/v1/responses': 'responses' } as const;

let calls = 0;

/** A call of a tool with its result, and the words around both. */
const stepOf = (name: string, input: string, result: string, words = ''): Turn[] => {
  calls += 1;
  const id = `call_${calls}`;
  return [
    {
      role: 'assistant',
      blocks: [
        { type: 'text', text: `Now step ${calls}. ${words}` },
        { type: 'tool-call', id, name, arguments: input },
      ],
    },
    {
      role: 'user',
      blocks: [
        { type: 'tool-result', callId: id, content: [{ type: 'text', text: result }] },
        { type: 'text', text: `It is ${calls} o'clock.` },
      ],
    },
  ];
};

const bash = (command: string, result: string): Turn[] =>
  stepOf('Bash', JSON.stringify({ command }), result);

const repeat = (times: number, step: (n: number) => Turn[]): Turn[][] =>
  Array.from({ length: times }, (_, n) => step(n));

/** What agents do that is not a loop. */
const HABITS: ((random: Random) => Turn[][])[] = [
  (random) => {
    const file = `/src/${random.between(0, 30)}.ts`;
    return [stepOf('Read', JSON.stringify({ file }), 'some lines of the file')];
  },
  // The same edit is tried again, and fails again.
  (random) =>
    repeat(random.between(2, 5), () => stepOf('Edit', '{"old":"a","new":"b"}', 'not found')),
  // A job is polled whose state does not change.
  (random) => repeat(random.between(5, 40), () => bash('sleep 20; cat job.log', 'running')),
  (random) => repeat(random.between(5, 40), () => stepOf('TaskOutput', '{"id":"7"}', 'pending')),
  // A build that prints where it is.
  (random) => repeat(random.between(5, 20), (n) => bash('npm run build', `built ${n} of 80`)),
  // A test that stays red while the code is changed.
  (random) =>
    repeat(random.between(5, 20), (n) => [
      ...stepOf('Edit', `{"line":${n}}`, 'done'),
      ...bash('npm test', '1 failed'),
    ]),
  // A build whose log grows by a few lines each time, and reads of files of any size.
  (random) => {
    const more = random.between(10, 2_000);
    return repeat(random.between(5, 30), (n) => bash('npm run build', 'x'.repeat(n * more)));
  },
  (random) =>
    repeat(random.between(5, 30), (n) =>
      stepOf('Read', `{"file":"${n}.ts"}`, 'x'.repeat(random.between(10, 20_000))),
    ),
  // Ever larger parts of a file, until it is read.
  (random) =>
    repeat(random.between(3, 8), (n) =>
      stepOf('Read', `{"lines":${2 ** n}}`, 'x'.repeat(2 ** n * 30)),
    ),
  // A person who answers with the same word.
  (random) =>
    repeat(random.between(5, 20), (n) => [
      { role: 'assistant', blocks: [{ type: 'text', text: `Chapter ${n}` }] },
      { role: 'user', blocks: [{ type: 'text', text: 'continue' }] },
    ]),
];

const LOOPS: Record<string, (n: number) => Turn[]> = {
  'one call': () => stepOf('Read', '{"file":"a.ts"}', 'the same lines'),
  'two calls by turns': () => [
    ...stepOf('Edit', '{"old":"a","new":"b"}', 'done'),
    ...stepOf('Edit', '{"old":"b","new":"a"}', 'done'),
  ],
  'three calls by turns': () => [
    ...bash('npm run lint', '1 error'),
    ...bash('npm run fix', 'fixed'),
    ...bash('git restore .', ''),
  ],
  'the same words': () => [
    { role: 'assistant', blocks: [{ type: 'text', text: 'I will do it now.' }] },
    { role: 'user', blocks: [{ type: 'text', text: 'Call a tool.' }] },
  ],
  'a call whose result has all results before it': (n) =>
    stepOf('Query', `{"page":${n}}`, 'row '.repeat(400 * 2 ** (n % 12))),
  'a call whose results grow by a fifth': (n) =>
    stepOf('Query', `{"page":${n}}`, 'row '.repeat(400 * 1.2 ** n)),
  'a search that finds nothing': () => stepOf('Grep', '{"pattern":"x"}', 'No matches'),
  // Its results are never the same: it is not found.
  'a call whose result has the time': (n) => bash('date', `It is ${n}.`),
};
const SEEDED = 160;
const REPETITIONS = 12;

const random = createRandom(SEED);

const worked = (steps: number): Turn[] => {
  const turns: Turn[] = [{ role: 'user', blocks: [{ type: 'text', text: 'Do it.' }] }];
  while (turns.length < 2 * steps) {
    const habit = HABITS[random.between(0, HABITS.length - 1)];
    // Between two habits the agent looks at something new.
    turns.push(...bash(`cat ${turns.length}.ts`, 'lines'), ...(habit?.(random).flat() ?? []));
  }
  return turns;
};

describe('the history of a request', () => {
  test.each(RECORDED)('no request of the recorded session of %s is a loop', (file) => {
    const { path, requests } = recorded(file);
    const protocol = callerProtocols[NAMES[path as keyof typeof NAMES] ?? 'chat'];
    const loops = requests.filter(({ body, headers }) =>
      isLoop(protocol.decodeRequest(body as never, headers as never)),
    );
    expect(requests.length).toBeGreaterThan(10);
    expect(loops).toEqual([]);
  });

  test('of 10,000 steps with retries, polling, builds and red tests none is a loop', () => {
    let steps = 0;
    const stops: Turn[][] = [];
    while (steps < 10_000) {
      const turns = worked(100);
      for (let end = 2; end <= turns.length; end += 2) {
        steps += 1;
        const history = turns.slice(0, end + 1);
        if (isLoop({ turns: history })) stops.push(history);
      }
    }
    expect(steps).toBeGreaterThanOrEqual(10_000);
    expect(stops).toEqual([]);
  });

  test('of 160 seeded loops at least 80 percent are found within twelve repetitions, and none before', () => {
    const kinds = Object.entries(LOOPS);
    const found: Record<string, number> = {};
    for (let seeded = 0; seeded < SEEDED; seeded += 1) {
      const [kind = '', step = () => []] = kinds[seeded % kinds.length] ?? [];
      const before = worked(random.between(1, 40));
      const turns = [...before, ...repeat(REPETITIONS, step).flat()];
      const at = turns.findIndex((_, end) => isLoop({ turns: turns.slice(0, end + 1) }));
      if (at >= 0) expect(at).toBeGreaterThan(before.length);
      found[kind] = (found[kind] ?? 0) + (at >= 0 ? 1 : 0);
    }
    const each = SEEDED / kinds.length;
    const all = Object.values(found).reduce((sum, count) => sum + count, 0);
    expect(all).toBeGreaterThanOrEqual(0.8 * SEEDED);
    expect(found).toMatchObject({ 'one call': each, 'two calls by turns': each });
  });

  test('a history that left its loop is none', () => {
    const turns = [
      ...worked(20),
      ...repeat(12, () => stepOf('Read', '{}', 'x')).flat(),
      ...bash('ls', 'a'),
    ];
    expect(isLoop({ turns })).toBe(false);
  });
});

const SECRET = 'a-word-of-the-prompt-that-no-table-holds';

const looping = () => [
  { role: 'user', content: 'say hi' },
  ...Array.from({ length: 9 }, (_, n) => `toolu_${n}`).flatMap((id) => [
    {
      role: 'assistant',
      content: [{ type: 'tool_use', id, name: 'Read', input: { file: SECRET } }],
    },
    { role: 'user', content: [{ type: 'tool_result', tool_use_id: id, content: SECRET }] },
  ]),
];

describe('a request in a loop', () => {
  const ask = async (loops: 'off' | 'warn' | 'stop') => {
    const router = await startOnDynamo({});
    onTestFinished(router.close);
    const key = await router.createKey({ plan: { loops } });
    const headers = {
      'x-api-key': key,
      'content-type': 'application/json',
      'x-router-session': 'one',
    };
    const response = await fetch(`${router.baseUrl}/v1/messages`, {
      method: 'POST',
      headers,
      body: JSON.stringify({
        model: router.models[0]?.id,
        max_tokens: 100,
        messages: looping(),
        tools: [{ name: 'Read', input_schema: { type: 'object' } }],
      }),
    });
    const text = await response.text();
    return { router, response, text, headers };
  };

  test('a loop is marked in the response and in its session, and no table holds a word of it', async () => {
    const { router, response, headers } = await ask('warn');
    expect(response.status).toBe(200);
    expect(response.headers.get('x-router-warning')).toBe('loop');
    const session = async () =>
      (await fetch(`${router.baseUrl}/v1/sessions/one`, { headers })).json();
    await expect.poll(session).toMatchObject({ requests: 1, loops: 1 });
    const tables = await scanTables(router.endpoints.dynamo);
    expect(JSON.stringify(tables)).not.toContain(SECRET);
  });

  test('a plan that stops loops gets a 402 with a reason, and no call of its provider', async () => {
    const { router, response, text } = await ask('stop');
    expect(response.status).toBe(402);
    expect(response.headers.get('x-should-retry')).toBe('false');
    expect(JSON.parse(text).error).toMatchObject({ details: { error_code: 'loop' } });
    expect(text).toContain('repeat each other');
    expect(router.upstreams.calls).toEqual([]);
  });

  test('a plan that ignores loops gets no warning', async () => {
    const { response } = await ask('off');
    expect(response.status).toBe(200);
    expect(response.headers.has('x-router-warning')).toBe(false);
  });
});
