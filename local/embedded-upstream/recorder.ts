import type { ProtocolName } from '../../lambdas/protocols/protocol.ts';
import type { Fault } from './faults.ts';

/** A call as the upstream saw it. Credentials are left out. */
export type RecordedCall = {
  protocol: ProtocolName;
  path: string;
  headers: Record<string, string>;
  body: unknown;
  /** The upstream's name of the model. */
  model: string;
  /** `abandoned`: the connection closed before the answer was complete, whoever closed it. */
  outcome: 'open' | 'answered' | 'abandoned';
};

/** A fault for the calls it fits: all of them, unless it names a protocol, a model or a number of times. */
export type FaultRule = {
  fault: Fault;
  protocol?: ProtocolName;
  model?: string;
  times?: number;
};

/** What tests see and steer of the embedded upstreams. */
export type UpstreamControl = {
  /** All calls since the start or the last `reset`, oldest first. */
  readonly calls: readonly RecordedCall[];
  /** The first rule that fits a call decides; rules last until used up or reset. */
  inject(rule: FaultRule): void;
  /** Forgets calls and rules. */
  reset(): void;
};

export type Recorder = {
  control: UpstreamControl;
  record(call: RecordedCall): void;
  /** Takes one use of the rule that fits. */
  takeFault(call: RecordedCall): Fault | undefined;
};

const fits = (rule: FaultRule, call: RecordedCall): boolean =>
  (rule.protocol ?? call.protocol) === call.protocol && (rule.model ?? call.model) === call.model;

export const createRecorder = (): Recorder => {
  let calls: RecordedCall[] = [];
  let rules: { rule: FaultRule; left: number }[] = [];
  return {
    control: {
      get calls() {
        return calls;
      },
      inject: (rule) => {
        rules.push({ rule, left: rule.times ?? Number.POSITIVE_INFINITY });
      },
      reset: () => {
        calls = [];
        rules = [];
      },
    },
    record: (call) => {
      calls.push(call);
    },
    takeFault: (call) => {
      const found = rules.find(({ rule, left }) => left > 0 && fits(rule, call));
      if (found) found.left -= 1;
      return found?.rule.fault;
    },
  };
};
