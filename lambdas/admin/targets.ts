import type { Model, Target } from '../catalog/catalog.ts';
import type { BreakerState } from '../stores/notes.ts';
import { formatInstant } from '../support/clock.ts';
import { omitUndefined } from '../support/objects.ts';
import { placeOf } from './check.ts';
import { CALLS } from './input.ts';
import type { Operation, OperationParts } from './operation.ts';
import { readLimitsSeen } from './provider-limits.ts';
import { targetOf } from './recent.ts';
import { publicRetirement, readKeysUsing } from './retirements.ts';
import { hasList } from './stated-retirement.ts';

export type Placed = { place: string; model: Model; target: Target };

export const placedTargets = (models: Model[]): Placed[] =>
  models.flatMap((model, index) =>
    model.targets.map((target, number) => ({ place: placeOf(index, number), model, target })),
  );

export const callsOf = ({ tools }: Model, target: Target) =>
  CALLS.filter(
    (call) => ({ whole: true, streamed: true, tool: tools, list: hasList(target) })[call],
  );

export type Health = {
  state: 'closed' | 'open' | 'half-open';
  open_until?: string;
  openings?: number;
};

const CLOSED: Health = { state: 'closed' };

/** Health of a target as all environments share it; an environment may have seen a failure since. */
const healthOf = (breaker: BreakerState | undefined, now: number): Health => {
  if (!breaker || breaker.openUntil === 0) return CLOSED;
  const { openUntil, openings } = breaker;
  const state = openUntil > now ? 'open' : 'half-open';
  return { state, open_until: formatInstant(openUntil), openings };
};

const publicTarget = ({ place, model, target }: Placed, keysUsing: Map<string, number>) => ({
  place,
  model: model.id,
  upstream: target.upstream,
  protocol: target.protocol,
  upstream_model: target.model,
  calls: callsOf(model, target),
  ...omitUndefined({
    account: target.account,
    input_price_per_m: model.input_price_per_m,
    output_price_per_m: model.output_price_per_m,
    cached_input_price_per_m: model.cached_input_price_per_m,
  }),
  ...publicRetirement(model, keysUsing.get(model.id)),
});

/** Health by target; models may share one. */
export const readTargetStates = async (parts: OperationParts): Promise<Map<string, Health>> => {
  const { models, breakers, clock } = parts;
  const read = async (name: string) =>
    [name, healthOf(await breakers.readBreaker(name), clock.now())] as const;
  const names = new Set(placedTargets(models).map(({ target }) => targetOf(target)));
  return new Map(await Promise.all([...names].map(read)));
};

/** The catalog's targets in the order of failover, with the state of their breakers and their prices. */
export const createListTargets = (parts: OperationParts) => {
  const list = (async () => {
    const placed = placedTargets(parts.models);
    const [states, keysUsing, limits] = await Promise.all([
      readTargetStates(parts),
      readKeysUsing(parts),
      readLimitsSeen(parts),
    ]);
    const data = placed.map((each) => ({
      ...publicTarget(each, keysUsing),
      ...(states.get(targetOf(each.target)) ?? CLOSED),
      ...limits.get(targetOf(each.target)),
    }));
    return { status: 200, body: { data } };
  }) satisfies Operation<'targets.list'>;

  /** Ids and prices, which a plan or a key may be limited to. */
  const listModels = (async () => {
    const data = parts.models.map(({ id, retires }) => ({ id, retires: retires ?? null }));
    return { status: 200, body: { data } };
  }) satisfies Operation<'models.list'>;
  return { 'targets.list': list, 'models.list': listModels };
};
