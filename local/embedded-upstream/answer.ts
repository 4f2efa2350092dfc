import type {
  Generation,
  GenerationRequest,
  ResponseMeta,
} from '../../lambdas/protocols/generation.ts';
import type { Protocol } from '../../lambdas/protocols/protocol.ts';
import type { Fault } from './faults.ts';

/** All that is said about one call; `label` carries the upstream's own model name. */
export type Answer = {
  protocol: Protocol;
  request: GenerationRequest;
  generation: Generation;
  label: ResponseMeta;
  fault: Fault | undefined;
  /** Pause before every message, in milliseconds. */
  delayMs: number;
};
