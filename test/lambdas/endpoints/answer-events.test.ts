import { describe, expect, test } from 'vitest';
import { answerEvents, createUsageRecorder } from '../../../lambdas/endpoints/answer-events.ts';
import type { GenerationEvent, Usage } from '../../../lambdas/protocols/generation.ts';
import { UpstreamError } from '../../../lambdas/protocols/rejections/upstream-error.ts';
import type { EventBatches } from '../../../lambdas/upstreams/upstream.ts';

const delta = (text: string): GenerationEvent => ({ type: 'block-delta', index: 0, delta: text });
const finish = (usage: Usage | undefined): GenerationEvent => ({
  type: 'finish',
  reason: { unified: 'stop' },
  usage,
});

const recordAll = (events: GenerationEvent[]) => {
  const notes: object[] = [];
  const recordUsage = createUsageRecorder(
    { characters: 0, isFinal: false },
    () => 11,
    (fields) => notes.push(fields),
  );
  return { events: events.map(recordUsage), notes };
};

describe('recordUsage', () => {
  test('a finish without usage gets the input estimate and one output token per 4 characters', () => {
    const { events, notes } = recordAll([delta('four'), delta('five5'), finish(undefined)]);
    expect(events.at(-1)).toEqual(finish({ inputTokens: 11, outputTokens: 3 }));
    expect(notes).toEqual([
      { finish: 'stop', inputTokens: 11, inputEstimated: true, outputTokens: 3 },
    ]);
  });

  test('a finish with usage 0 gets the estimates', () => {
    const { events } = recordAll([delta('four'), finish({ inputTokens: 0, outputTokens: 0 })]);
    expect(events.at(-1)).toEqual(finish({ inputTokens: 11, outputTokens: 1 }));
  });

  test('usage that the upstream reports is kept and noted', () => {
    const usage = { inputTokens: 5, outputTokens: 7, cacheReadTokens: 2 };
    const { events, notes } = recordAll([delta('four'), finish(usage)]);
    expect(events.at(-1)).toEqual(finish(usage));
    expect(notes).toEqual([{ finish: 'stop', ...usage }]);
  });
});

const OPEN: GenerationEvent[] = [
  { type: 'start' },
  { type: 'block-start', index: 0, block: { type: 'thinking' } },
  { type: 'block-end', index: 0 },
  { type: 'block-start', index: 1, block: { type: 'text' } },
  { type: 'block-start', index: 2, block: { type: 'tool-call', id: 'a', name: 'f' } },
  { type: 'block-delta', index: 1, delta: 'four' },
];

async function* failing(error: Error): EventBatches {
  yield OPEN;
  throw error;
}

const readUntilError = async (error: Error) => {
  const events: GenerationEvent[] = [];
  const notes: object[] = [];
  const options = {
    origin: 'eeeeeeeeeeee',
    used: { characters: 0, isFinal: false },
    estimateInput: () => 11,
    note: (fields: object) => notes.push(fields),
    onFailure: (error: unknown) => error,
  };
  const read = async () => {
    for await (const batch of answerEvents(failing(error), options)) events.push(...batch);
  };
  return { read, events, notes };
};

describe('answerEvents', () => {
  test('a deadline ends each open block and finishes with length, with usage', async () => {
    const { read, events, notes } = await readUntilError(new UpstreamError('deadline', 'late'));
    await read();
    expect(events.slice(OPEN.length)).toEqual([
      { type: 'block-end', index: 1 },
      { type: 'block-end', index: 2 },
      {
        type: 'finish',
        reason: { unified: 'length' },
        usage: { inputTokens: 11, outputTokens: 1 },
      },
    ]);
    expect(notes).toEqual([
      { cut: true },
      { finish: 'length', inputTokens: 11, inputEstimated: true, outputTokens: 1 },
    ]);
  });

  test('an error that is not a deadline is thrown unchanged, without further events', async () => {
    const error = new UpstreamError('reset', 'broken');
    const { read, events, notes } = await readUntilError(error);
    await expect(read()).rejects.toBe(error);
    expect(events).toHaveLength(OPEN.length);
    expect(notes).toEqual([]);
  });

  test('the end of a thinking block carries the origin of its upstream', async () => {
    const { read, events } = await readUntilError(new UpstreamError('deadline', 'late'));
    await read();
    expect(events[2]).toEqual({ type: 'block-end', index: 0, signature: 'mrs1.eeeeeeeeeeee.' });
  });
});
