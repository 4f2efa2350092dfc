import { keyStartIn } from '../keys/api-key.ts';
import type { Caller } from '../keys/authenticate.ts';
import type { Refused } from '../records/refusals.ts';
import type { Clock } from '../support/clock.ts';
import type { ApiError } from '../support/errors.ts';
import { omitUndefined } from '../support/objects.ts';
import type { Received, Routed } from './stages.ts';

/** How far a request came before its error: its route and its key are known or not. */
export type Reached = { routed?: Routed | undefined; caller?: Caller | undefined };

/**
 * What is known of a request that is refused; its model and its route are noted for the log line. Undefined if it took a
 * unit, whose record says more, or asked for what does not exist.
 */
export const refusedOf = (
  { requestId, startedAt, protocol, notes, request }: Received,
  { routed, caller }: Reached,
  { error, clock }: { error: ApiError; clock: Clock },
): Refused | undefined => {
  const isAbsent = error.status === 404 && routed?.pathParameter !== undefined;
  if (notes.outcome !== undefined || isAbsent) return undefined;
  const { projectId = '', keyId = '', meterId = '' } = caller ?? {};
  const holder = caller
    ? { projectId, keyId, planId: caller.plan.id }
    : omitUndefined({ keyStart: keyStartIn(request.headers) });
  return {
    id: requestId,
    startedAt,
    ms: clock.now() - startedAt,
    protocol: protocol.name,
    ...holder,
    ...omitUndefined({ route: notes.route, model: notes.model }),
    error,
    counted:
      caller && routed?.isGeneration
        ? { projectId, keyId, meterId, model: notes.model ?? '', status: error.status }
        : undefined,
  };
};
