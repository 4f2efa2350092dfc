import { expect, test } from 'vitest';
import type { Target } from '../../../lambdas/catalog/catalog.ts';
import {
  UpstreamError,
  type UpstreamErrorKind,
} from '../../../lambdas/protocols/rejections/upstream-error.ts';
import type { OpenBreaker } from '../../../lambdas/routing/breakers/attempt.ts';
import { errorOfAll } from '../../../lambdas/routing/classify-failure.ts';
import { targetAt } from '../../support/models.ts';

const target: Target = targetAt('https://provider.example');
const open = (waitMs: number, category?: OpenBreaker['category']): OpenBreaker => ({
  ...{ target, waitMs, category },
});
const failed = (kind: UpstreamErrorKind, status?: number, retryAfterSeconds?: number) =>
  new UpstreamError(kind, '', { status, retryAfterSeconds });

test.each([
  { what: 'a second at least', breakers: [open(1, 'failure')], seconds: '1' },
  { what: 'the time of an opening', breakers: [open(4_200, 'failure')], seconds: '5' },
  { what: 'at most 10 s of failures', breakers: [open(25_000, 'failure')], seconds: '10' },
  { what: 'at most 10 s of connections', breakers: [open(25_000, 'connection')], seconds: '10' },
  { what: 'at most 10 s of unknown causes', breakers: [open(120_000)], seconds: '10' },
  { what: "a provider's own wait", breakers: [open(25_000, 'cooldown')], seconds: '25' },
  { what: 'at most a minute', breakers: [open(120_000, 'access')], seconds: '60' },
  {
    what: 'the shortest wait',
    breakers: [open(25_000, 'cooldown'), open(20_000, 'cooldown'), open(300_000, 'access')],
    seconds: '20',
  },
])('where all breakers are open the 503 asks to wait for $what', ({ breakers, seconds }) => {
  const { status, headers } = errorOfAll([], breakers);
  expect([status, headers['retry-after'], headers['x-should-retry']]).toEqual([
    503,
    seconds,
    undefined,
  ]);
});

test('where all breakers are open for more than two minutes the 503 asks not to retry', () => {
  expect(errorOfAll([], [open(120_001, 'access')]).headers['x-should-retry']).toBe('false');
});

test('the 503 names rejected credentials only where they opened all breakers', () => {
  const rejected = open(60_000, 'credential');
  expect(errorOfAll([], [rejected]).message).toContain('credentials were rejected');
  expect(errorOfAll([], [rejected, open(60_000, 'failure')]).message).toContain('temporarily');
});

test('a failure that may pass decides before one that lasts', () => {
  const passing = failed('status', 500);
  const lasting = failed('no-quota');
  expect(errorOfAll([passing, lasting], []).headers['x-should-retry']).toBeUndefined();
  expect(errorOfAll([lasting], []).headers['x-should-retry']).toBe('false');
  expect(errorOfAll([lasting], [open(5_000, 'failure')])).toMatchObject({
    ...{ status: 503, headers: { 'retry-after': '5' } },
  });
  expect(errorOfAll([lasting], [open(120_001, 'access')]).status).toBe(502);
});

test('a failure that ends the request decides before earlier ones', () => {
  expect(errorOfAll([failed('status', 500), failed('deadline')], []).status).toBe(504);
});

test('the shortest retry-after of all failures is passed on, of 1 to 60 s', () => {
  const wait = (...seconds: (number | undefined)[]) =>
    errorOfAll(
      seconds.map((asked) => failed('status', 429, asked)),
      [],
    ).headers['retry-after'];
  expect(wait(30, 20, 40)).toBe('20');
  expect(wait(undefined, 20)).toBe('20');
  expect(wait(undefined)).toBe('10');
  expect(wait(0)).toBe('1');
  expect(wait(300)).toBe('60');
  expect(wait(1.2)).toBe('2');
});
