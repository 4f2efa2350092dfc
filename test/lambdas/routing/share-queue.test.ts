import { expect, test } from 'vitest';
import { queueIn } from '../../../lambdas/routing/shares/queue-text.ts';

const AT = 1_795_824_000_000;
/** As the release before wrote it: a row ends with what its flow needs, in no process. */
const WRITTEN = `[${AT},[12,30000,null,null],[["team-1",0.25,40,[1,900,null,null]],["team-2",0,10]]]`;

test('a queue that the release before wrote keeps what is left of the quota, and the tags of tenants', () => {
  expect(queueIn(WRITTEN)).toEqual({
    at: AT,
    levels: { requests: 12, tokens: 30_000 },
    flows: {
      'team-1': { tag: 0.25, seen: AT - 40, places: [] },
      'team-2': { tag: 0, seen: AT - 10, places: [] },
    },
  });
});
