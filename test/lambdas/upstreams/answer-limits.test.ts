import { expect, test } from 'vitest';
import type { GenerationEvent } from '../../../lambdas/protocols/generation.ts';
import { createAnswerMeter } from '../../../lambdas/upstreams/response-body.ts';

const delta = (text: string): GenerationEvent => ({ type: 'block-delta', index: 0, delta: text });
const LIMITS = { characters: 10, messages: 3, overhead: 100 };

test('text beyond the limit is cut between two characters', () => {
  const meter = createAnswerMeter(LIMITS);
  expect(meter.within([delta('12345678')])).toEqual([delta('12345678')]);
  meter.assertLeft();
  expect(meter.within([delta('9😀'), delta('more')])).toEqual([delta('9')]);
  expect(meter.assertLeft).toThrow('more text than the request allows');
});

test('text of exactly the limit is whole', () => {
  const meter = createAnswerMeter(LIMITS);
  meter.within([delta('1234567890')]);
  meter.assertLeft();
});

test('messages are limited in number', () => {
  const meter = createAnswerMeter(LIMITS);
  for (let count = 0; count < 3; count += 1) meter.message('');
  expect(() => meter.message('')).toThrow('more messages than the request allows');
});

test('data in oversized messages is limited in all', () => {
  const meter = createAnswerMeter(LIMITS);
  meter.message('x'.repeat(1_024));
  meter.message('x'.repeat(1_124));
  expect(() => meter.message('x'.repeat(1_025))).toThrow('more data than the request allows');
});
