import { describe, expect, test } from 'vitest';
import { limitsText } from '../../../lambdas/protocols/provider-limits.ts';
import { readLimits } from '../../../lambdas/upstreams/send.ts';
import published from '../../fixtures/provider-limits.json' with { type: 'json' };

const NOW = Date.parse('2026-11-24T12:00:00Z');
const read = (headers: Record<string, string>, hostname = 'api.provider.test') =>
  readLimits(headers, { hostname, now: NOW });

describe('limits in the headers of a response', () => {
  test.each(published)('the limits of $provider are read as published', (one) => {
    const limits = read(one.headers as unknown as Record<string, string>, one.hostname);
    expect(limits ? limitsText(limits) : null).toBe(one.text);
    const resets = (limits ?? []).map(({ resetAt }) =>
      resetAt === undefined ? null : new Date(resetAt).toISOString(),
    );
    expect(resets).toEqual(one.resets);
  });

  test.each(['-1', '1e9', '', 'many', ' 5', '99999999999999999999', '0x10'])(
    'a number of requests that is %j is no limit',
    (remaining) => {
      expect(read({ 'x-ratelimit-remaining-requests': remaining })).toBeUndefined();
    },
  );

  test.each(['soon', '', 'six minutes', '-5', '1h-2m', '9'.repeat(400), '2026-13-45T00:00:00Z'])(
    'a reset of %j is none, and the limit counts',
    (reset) => {
      expect(
        read({ 'x-ratelimit-remaining-tokens': '0', 'x-ratelimit-reset-tokens': reset }),
      ).toEqual([
        { of: 'tokens', per: 'minute', remaining: 0, limit: undefined, resetAt: undefined },
      ]);
    },
  );
});
