import type { Fault } from './faults.ts';

/** A call as the upstream received it, without credentials. */
export type RecordedCall = {
  protocol: string;
  path: string;
  headers: Record<string, string>;
  body: unknown;
  /** The upstream's model name. */
  model: string;
  /** `abandoned`: either side closed the connection before the response was complete. */
  outcome: 'open' | 'answered' | 'abandoned';
};

/** Injects a fault into every call, or only into those of `protocol` or `model`, `times` times. */
export type FaultRule = {
  fault: Fault;
  protocol?: string;
  model?: string;
  times?: number;
  /** Matching calls that are answered first. */
  after?: number;
};

/** Lets tests inspect calls to the embedded upstream and inject faults. */
export type UpstreamControl = {
  /** All calls since the start or the last `reset`, oldest first. */
  readonly calls: readonly RecordedCall[];
  /** The first matching rule applies; a rule lasts until it is used up or reset. */
  inject(rule: FaultRule): void;
  reset(): void;
};

const matches = (rule: FaultRule, call: RecordedCall): boolean =>
  (rule.protocol ?? call.protocol) === call.protocol && (rule.model ?? call.model) === call.model;

export const createRecorder = () => {
  let calls: RecordedCall[] = [];
  let rules: { rule: FaultRule; waiting: number; remaining: number }[] = [];
  const control: UpstreamControl = {
    get calls() {
      return calls;
    },
    inject: (rule) => {
      const remaining = rule.times ?? Number.POSITIVE_INFINITY;
      rules.push({ rule, waiting: rule.after ?? 0, remaining });
    },
    reset: () => {
      calls = [];
      rules = [];
    },
  };
  return {
    control,
    record: (call: RecordedCall): void => {
      calls.push(call);
    },
    /** Consumes one use of the first matching rule and returns its fault. */
    takeFault: (call: RecordedCall): Fault | undefined => {
      const match = rules.find(({ rule, remaining }) => remaining > 0 && matches(rule, call));
      if (!match) return undefined;
      if (match.waiting > 0) {
        match.waiting -= 1;
        return undefined;
      }
      match.remaining -= 1;
      return match.rule.fault;
    },
  };
};
