import { budgetError } from '#late/limit-errors';
import { pricesOf, type Target } from '../catalog/catalog.ts';
import { BUDGET_EXCEEDED } from '../log-events.ts';
import type { Admission } from '../metering/admission.ts';
import type { LeaseSize } from '../metering/budgets.ts';
import { mapStoreErrors } from '../metering/limits.ts';
import type { Meter } from '../metering/meter.ts';
import { costOf } from '../money/cost.ts';
import type { Rates } from '../money/lease.ts';
import type { GenerationEvent } from '../protocols/generation.ts';
import { UpstreamError } from '../protocols/rejections/upstream-error.ts';
import type { LeasedUnit } from '../stores/meter-store.ts';
import type { Clock } from '../support/clock.ts';
import type { EventBatches } from '../upstreams/upstream.ts';
import { billOf, totalOf } from './bill.ts';
import { billPartsOf, type Tried } from './call-record.ts';
import { type CheckedCall, mostTokens } from './check-call.ts';
import { ratesByTarget } from './demand.ts';

/** A count of the upstream that is far below the estimate is not yet that of the whole prompt. */
const MIN_COUNTED = 0.5;

/** The costs of attempts, by what their upstreams have counted so far. */
const createCosts = (checked: CheckedCall) => {
  const { call, model } = checked;
  const parts = billPartsOf(checked);
  return {
    /** As the record of the request has it. */
    total: (tried: readonly Tried[]): number =>
      totalOf(tried.flatMap((used) => billOf(used, parts) ?? []))?.costNanos ?? 0,
    before: (used: Tried, tried: readonly Tried[]): number =>
      tried.reduce(
        (sum, other) => sum + (other === used ? 0 : (billOf(other, parts)?.cost.nanos ?? 0)),
        0,
      ),
    /** Undefined until the upstream has counted its input. */
    input: ({ target, usage }: Tried): number | undefined => {
      const { inputTokens = 0 } = usage ?? {};
      if (inputTokens < parts.estimateInput(target) * MIN_COUNTED) return undefined;
      const billed = { ...usage, ...usage?.billing, inputTokens, outputTokens: 0 };
      return costOf(billed, pricesOf(model, target), call.startedAt).nanos;
    },
  };
};

/** Most providers send a token an event, of at most so many characters of ASCII; */
const LONGEST_TOKEN = 8;
/** a longer text has at most one in so many. Any other character may be a token. */
const CHARACTERS_PER_TOKEN = 3;

/** An upper estimate of the tokens of a text that was generated. */
const tokensIn = (text: string): number => {
  let others = 0;
  for (let index = 0; index < text.length; index += 1)
    if (text.charCodeAt(index) > 127) others += 1;
  const ascii = text.length - others;
  return others + (ascii > LONGEST_TOKEN ? ascii / CHARACTERS_PER_TOKEN : Math.min(1, ascii));
};

/**
 * The fuse of one request under budgets of dollars: it leases what the request may cost in slices, ends the response when no
 * further slice is leased, and returns the rest.
 */
export type Fuse = {
  /** What is leased when the request is admitted. */
  lease: LeaseSize;
  /** The call with the targets that have a price for all that it asks for. */
  checked: CheckedCall;
  /** The first attempt is leased with the unit. */
  admitted(admission: Admission): void;
  /** Leases what another attempt may cost, before it is made. @throws ApiError 402 or 429 */
  attempt(target: Target, tried: readonly Tried[]): Promise<void>;
  /** The same before the last attempt is sent again, whose provider may have read and billed the first copy. */
  repeat(tried: readonly Tried[]): Promise<void>;
  /** Passes the events of an attempt, as long as what they cost is leased. @throws UpstreamError */
  guard(batches: EventBatches, used: Tried, tried: readonly Tried[]): EventBatches;
  /** The same admission, with what the request has cost when it is settled. */
  settling(admission: Admission, tried: readonly Tried[]): Admission;
};

/** Tokens of output in the first slice near the limit, */
const SLICE = 1_024;
/** far from it, and in each further one, since most responses that need one are long; */
const LARGE_SLICE = 4_096;
/** or small where a budget has no such slice left. */
const SMALL_SLICE = 256;
/** The next slice is asked for when so many are left, */
const ASK_AT = 256;
/** again after so many if it was denied, */
const ASK_AGAIN_AFTER = 64;
/** and the response ends with these: the provider has generated some of them by then. */
const END_AT = 96;
/** The leases that are left of a budget from which on what was leased for the worst input is returned at once. */
const NEAR = 20;
/** A lease that would stay larger than this part of what it is costs a write for little. */
const WORTH_RETURNING = 0.75;

type Parts = { checked: CheckedCall; meter: Meter; clock: Clock };

export const createFuse = ({ meter, clock, ...parts }: Parts): Fuse => {
  const rates = ratesByTarget(parts.checked);
  const checked = {
    ...parts.checked,
    targets: parts.checked.targets.filter((target) => rates.has(target)),
  };
  const { call } = checked;
  const costs = createCosts(checked);
  const most = mostTokens(checked);
  const slice = Math.min(SLICE * (checked.request.choices ?? 1), most);
  const fixed = Math.max(...[...rates.values()].map(({ input, tools }) => input + tools));
  const perToken = Math.max(...[...rates.values()].map((rate) => rate.perToken));
  const large = Math.min(LARGE_SLICE * (checked.request.choices ?? 1), most);
  const lease = {
    nanos: fixed + slice * perToken,
    ample: fixed + large * perToken,
    fixed,
    perToken,
  };
  let admission: (Admission & { unit: LeasedUnit }) | undefined;
  /** A change of the lease in flight. */
  let changing: Promise<boolean> | undefined;

  /** Whether the lease was changed; one change at a time. */
  const change = (unit: LeasedUnit, nanos: number): Promise<boolean> => {
    changing ??= meter
      .changeLease(unit, nanos)
      .then(
        (refusal) => refusal === undefined,
        () => false,
      )
      .finally(() => {
        changing = undefined;
      });
    return changing;
  };

  const rateOf = (target: Target): Rates =>
    rates.get(target) ?? { input: fixed, tools: 0, perToken };

  const attempt: Fuse['attempt'] = async (target, tried) => {
    if (!admission || tried.length === 0) return;
    const { unit, limits } = admission;
    const { input, tools, perToken: price } = rateOf(target);
    const needed = costs.total(tried) + input + tools + slice * price;
    if (needed <= unit.lease.nanos) return;
    const refusal = await mapStoreErrors(() => meter.changeLease(unit, needed));
    if (refusal) throw budgetError(refusal, { limits, lease, now: clock.now() });
  };

  /** What is leased for output, and how much of it is generated. */
  const createSlices = (unit: LeasedUnit, used: Tried, tried: readonly Tried[]) => {
    const { input, tools, perToken: price } = rateOf(used.target);
    const before = costs.before(used, tried) + (used.repeatedNanos ?? 0);
    let counted: number | undefined;
    let generated = 0;
    let asksAt = ASK_AT;
    let size = LARGE_SLICE;
    const leased = () => (unit.lease.nanos - before - tools - (counted ?? input)) / price;
    /** All that the upstream may generate is leased. */
    const isWhole = () => leased() >= most;
    const ask = (): void => {
      const left = leased() - generated;
      if (changing || isWhole() || left >= asksAt) return;
      const more = Math.ceil(Math.min(size, most - leased()) * price);
      void change(unit, unit.lease.nanos + more).then((isChanged) => {
        // A smaller one a little later: requests in flight return what they do not cost.
        size = isChanged ? LARGE_SLICE : SMALL_SLICE;
        asksAt = isChanged ? ASK_AT : left - ASK_AGAIN_AFTER;
      });
    };
    return {
      count: (batch: GenerationEvent[]): void => {
        for (const event of batch) {
          if (event.type === 'block-delta') generated += tokensIn(event.delta);
        }
        // Reasoning that is not shown, and audio, are in the counts alone.
        generated = Math.max(generated, used.usage?.outputTokens ?? 0);
        used.mostTokens = generated;
      },
      /** Returns what was leased for the worst input, but for a large slice, where other requests wait for it. */
      returnRest: (): void => {
        if (counted !== undefined) return;
        counted = costs.input(used);
        const left = admission?.limits.budgets?.[0]?.left ?? 0;
        if (counted === undefined || left > NEAR * lease.nanos) return;
        const kept = Math.min(Math.ceil(generated) + large, most);
        const needed = before + tools + counted + kept * price;
        if (needed < unit.lease.nanos * WORTH_RETURNING) void change(unit, needed);
      },
      ask,
      isSpent: async (): Promise<boolean> => {
        const isLow = () => !isWhole() && leased() - generated < END_AT;
        // The slice that was asked for, then a small one.
        for (let tries = 0; tries < 2 && isLow(); tries += 1) {
          ask();
          await changing;
        }
        return isLow();
      },
    };
  };

  return {
    lease,
    checked,
    admitted: (admitted) => {
      const { unit } = admitted;
      if (unit.lease) admission = { ...admitted, unit: { ...unit, lease: unit.lease } };
    },
    attempt,
    repeat: async (tried) => {
      const last = tried.at(-1);
      if (!last) return;
      const { input, tools } = rateOf(last.target);
      last.repeatedNanos = (last.repeatedNanos ?? 0) + input + tools;
      await attempt(last.target, tried);
    },
    guard: async function* (batches, used, tried) {
      if (!admission) return yield* batches;
      const slices = createSlices(admission.unit, used, tried);
      for await (const batch of batches) {
        slices.count(batch);
        yield batch;
        if (batch.some(({ type }) => type === 'finish')) continue;
        slices.returnRest();
        slices.ask();
        if (await slices.isSpent()) {
          call.note({ fault: BUDGET_EXCEEDED });
          throw new UpstreamError('output-limit', 'no budget has another slice');
        }
      }
    },
    settling: (admitted, tried) => {
      const close = async () => {
        await changing;
        if (admission) admission.unit.lease.spent = costs.total(tried);
      };
      return {
        ...admitted,
        charge: async () => {
          await close();
          return admitted.charge();
        },
        refund: async () => {
          await close();
          return admitted.refund();
        },
      };
    },
  };
};
