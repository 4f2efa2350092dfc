import type {
  Generation,
  GenerationRequest,
  ResponseMeta,
} from '../../lambdas/protocols/generation.ts';
import type { Fault } from './faults.ts';
import type { Wire } from './wires.ts';

/** Everything that determines one response of the embedded upstream. */
export type PlannedResponse = {
  protocol: Wire['protocol'];
  request: GenerationRequest;
  generation: Generation;
  /** Its `model` is the upstream's model name. */
  meta: ResponseMeta;
  fault: Fault | undefined;
  /** The message of an error. */
  failureText: string;
  /** Delay before every message, in milliseconds. */
  delayMs: number;
};
