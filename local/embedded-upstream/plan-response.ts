import type {
  Generation,
  GenerationRequest,
  ResponseMeta,
} from '../../lambdas/protocols/generation.ts';
import { readDirectives } from './directives.ts';
import { type Fault, faultOfModel, parseFault } from './faults.ts';
import { generate } from './model.ts';
import { readPrompt } from './prompt.ts';
import type { Wire } from './wires.ts';

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

const faultOfPrompt = (request: GenerationRequest): Fault | undefined =>
  parseFault(readDirectives(readPrompt(request).text).fault ?? '');

/** Plans the response to one call, in the style of the wire's providers, and its fault, if any. */
export const planResponse = (parts: {
  wire: Wire;
  request: GenerationRequest;
  /** Overrides a fault named by the model or the prompt. */
  injected: Fault | undefined;
  newId(): string;
  /** Unix seconds. */
  created: number;
  delayMs: number;
  failureText: string;
}): PlannedResponse => {
  const { wire, request, injected, newId, created, delayMs, failureText } = parts;
  const fault = injected ?? faultOfModel(request.model) ?? faultOfPrompt(request);
  const generation = generate(request, {
    newCallId: () => `${wire.callIdPrefix}${newId()}`,
    sign: (thinking) =>
      wire.signsThinking ? Buffer.from(`signed ${thinking}`).toString('base64') : undefined,
  });
  return {
    protocol: wire.protocol,
    request,
    generation: fault?.kind === 'blank' ? { ...generation, blocks: [] } : generation,
    meta: {
      id: newId(),
      model: request.model,
      created,
      now: () => created,
      estimateInput: () => generation.usage?.inputTokens ?? 0,
    },
    fault,
    failureText,
    delayMs: fault?.kind === 'slow' ? fault.ms : delayMs,
  };
};
