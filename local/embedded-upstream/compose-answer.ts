import type { GenerationRequest } from '../../lambdas/protocols/generation.ts';
import type { Answer } from './answer.ts';
import { readDirectives } from './directives.ts';
import { type Fault, faultOfModel, parseFault } from './faults.ts';
import { generate } from './model.ts';
import { readPrompt } from './prompt.ts';
import type { Wire } from './wires.ts';

const faultOfPrompt = (request: GenerationRequest): Fault | undefined =>
  parseFault(readDirectives(readPrompt(request).text).fault ?? '');

export type Composing = {
  wire: Wire;
  request: GenerationRequest;
  /** Wins over a fault that the model's name or the prompt asks for. */
  injected: Fault | undefined;
  newId(): string;
  /** Unix seconds. */
  created: number;
  delayMs: number;
};

/** What will be said about one call, in the style of the wire's providers, and how it will go wrong. */
export const composeAnswer = ({
  wire,
  request,
  injected,
  newId,
  created,
  delayMs,
}: Composing): Answer => {
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
    label: {
      id: newId(),
      model: request.model,
      created,
      estimatedInputTokens: generation.usage?.inputTokens ?? 0,
    },
    fault,
    delayMs: fault?.kind === 'slow' ? fault.ms : delayMs,
  };
};
