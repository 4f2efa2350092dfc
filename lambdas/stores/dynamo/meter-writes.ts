import type { ConditionalWrite } from './table.ts';

/**
 * The conditional writes of a meter's item. Each is a no-op when repeated, because its condition names the
 * request's own marks, which the write itself changes:
 *
 *   time ------------------------------------------------------------------------------------->
 *   reserve          commit             close
 *   +o +1r +1q       o -> c             -c                     answered: 1 unit
 *   reserve          refund             (nothing)
 *   +o +1r +1q       -o -1q                                    failed before its first byte: 0 units
 *   reserve   commit   refund           (nothing)
 *   +o +1r +1q o -> c  -c -1q                                  failed in mid-stream: 0 units
 *   reserve (no answer) … refund        (none)
 *   ?                  +x, or as above  x stays 17 min         a late copy of the reserve meets x: no-op
 *   reserve   †                         reap, 17 min later
 *   +o +1r +1q                          -o -1q                 process died: 0 units
 *   reserve   commit   †                reap, 17 min later
 *   +o +1r +1q o -> c                   -c                     process died after its first byte: 1 unit
 *
 * Marks of a request stay for the reaper if any of its writes was sent twice, and its refund leaves a tombstone,
 * so that no copy of any write ever meets an item that has forgotten the request. A limit of 0 never gets here:
 * `attribute_not_exists` would let one request through.
 */
export const RESERVE: ConditionalWrite = {
  update: 'SET #open = :mark, #lastUsed = :now ADD #minute :one, #period :one',
  condition: [
    'attribute_not_exists(#open)',
    'attribute_not_exists(#committed)',
    'attribute_not_exists(#tombstone)',
    '(attribute_not_exists(#keyEnd) OR #keyEnd > :now)',
    '(attribute_not_exists(#period) OR #period < :quota)',
    '(attribute_not_exists(#minute) OR #minute < :rpm)',
  ].join(' AND '),
};

export const COMMIT: ConditionalWrite = {
  update: 'SET #committed = #open REMOVE #open',
  condition: 'attribute_exists(#open)',
};

export const REFUND = {
  update: 'SET #tombstone = :mark REMOVE #open, #committed ADD #period :minusOne',
  condition: 'attribute_exists(#open) OR attribute_exists(#committed)',
} as const satisfies ConditionalWrite;

/**
 * A refund of a request of which no copy can be under way: it needs no tombstone, and nobody has to come back
 * to remove one. It takes attributes along that have had their day.
 */
export const refundAndForget = (outdated: string[]): ConditionalWrite => ({
  update: `REMOVE ${['#open', '#committed', ...outdated].join(', ')} ADD #period :minusOne`,
  condition: REFUND.condition,
});

/** The other half of a refund: nothing is there (yet), so nothing may come. */
export const TOMBSTONE: ConditionalWrite = {
  update: 'SET #tombstone = :mark',
  condition: 'attribute_not_exists(#open) AND attribute_not_exists(#committed)',
};

/** No tombstone: whoever could still write for this request has been dead for two minutes. */
export const REAP: ConditionalWrite = {
  update: 'REMOVE #open ADD #period :minusOne',
  condition: 'attribute_exists(#open)',
};

/** The earliest end wins, so that a late copy of a rotation cannot undo a revocation. */
export const END_KEY: ConditionalWrite = {
  update: 'SET #keyEnd = :end',
  condition: 'attribute_not_exists(#keyEnd) OR #keyEnd > :end',
};

/** Free calls have an item of their own a minute. A repeated write may count twice, to the strict side. */
export const COUNT_FREE: ConditionalWrite = {
  update: 'SET #ttl = :ttl ADD #count :one',
  condition: 'attribute_not_exists(#count) OR #count < :cap',
};

/** An unconditional removal of up to this many attributes keeps the expression far below 4 KB. */
export const MAX_FORGOTTEN = 40;
