import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Fleet, startFleet } from '../../../support/fleet.ts';
import { createManualClock } from '../../../support/manual-clock.ts';
import { modelOn, targetAt } from '../../../support/models.ts';
import { send } from '../../../support/send.ts';

const MODELS = [
  'gpt-6',
  'glm-5.2',
  'minimax-m3',
  'qwen3.5',
  'deepseek-v4',
  'gpt-oss-120b',
  'llama-4',
];
/** Tools and calls of a request, and what the tokenizers of the models count of it in the vendors' chat templates. */
const CASES: [tools: number, calls: number, tokens: number[]][] = [
  [0, 0, [33, 35, 192, 37, 26, 96, 57]],
  [10, 0, [596, 1_131, 1_406, 1_334, 1_247, 673, 1_543]],
  [10, 5, [851, 1_366, 1_796, 1_734, 1_742, 978, 1_848]],
  [1, 20, [1_121, 1_171, 2_030, 1_954, 2_327, 1_398, 1_476]],
];

let fleet: Fleet;
beforeAll(async () => {
  fleet = await startFleet({
    models: MODELS.map((model) =>
      modelOn([targetAt('http://127.0.0.1:1', { model })], { id: model }),
    ),
    clock: createManualClock(Date.UTC(2026, 10, 22, 12)),
  });
});
afterAll(() => fleet.close());

const toolOf = (index: number) => ({
  name: `read_file_${index}`,
  description: 'Reads a file of the workspace and returns its lines with their numbers.',
  input_schema: {
    type: 'object',
    properties: {
      path: { type: 'string', description: 'Path of the file, from the root of the workspace.' },
      limit: { type: 'integer', description: 'How many lines to read at most.' },
    },
    required: ['path'],
    additionalProperties: false,
  },
});

const callOf = (index: number) => [
  {
    role: 'assistant',
    content: [
      {
        type: 'tool_use',
        id: `toolu_${index}`,
        name: 'read_file_1',
        input: { path: `src/part${index}.ts`, limit: 20 },
      },
    ],
  },
  {
    role: 'user',
    content: [
      {
        type: 'tool_result',
        tool_use_id: `toolu_${index}`,
        content: '1\texport const add = (left: number, right: number): number => left - right;\n',
      },
    ],
  },
];

const countTokens = async (
  model: string,
  tools: number,
  calls: number,
  later: object[] = [],
): Promise<number> => {
  const { status, text } = await send(fleet.urls[0] ?? '', '/v1/messages/count_tokens', {
    method: 'POST',
    headers: { 'x-api-key': fleet.key },
    body: JSON.stringify({
      model,
      system: 'You are a coding assistant. Answer in plain English.',
      messages: [
        { role: 'user', content: 'Find out why the test fails, and repair it.' },
        ...Array.from({ length: calls }, (_, index) => callOf(index)).flat(),
        ...later,
      ],
      tools: Array.from({ length: tools }, (_, index) => toolOf(index)),
    }),
  });
  expect(status).toBe(200);
  return JSON.parse(text).input_tokens;
};

test.each(CASES)(
  'count_tokens of %d tools and %d short calls is within 5 percent or 15 tokens of what seven vendors count',
  async (tools, calls, truth) => {
    for (const [index, model] of MODELS.entries()) {
      const tokens = truth[index] ?? 0;
      const counted = await countTokens(model, tools, calls);
      const off = Math.abs(counted - tokens);
      expect(off, `${model}: ${counted} of ${tokens}`).toBeLessThanOrEqual(
        Math.max(15, 0.05 * tokens),
      );
    }
  },
);

test('a later system turn counts its text for every vendor: those whose template leaves it out get it as a turn of the user', async () => {
  const content = 'The user has opened the file, and the tests were run again. '.repeat(20);
  for (const model of MODELS) {
    const without = await countTokens(model, 1, 1);
    const added = (await countTokens(model, 1, 1, [{ role: 'system', content }])) - without;
    expect(added, model).toBeGreaterThanOrEqual(200);
    expect(added, model).toBeLessThanOrEqual(400);
  }
});
