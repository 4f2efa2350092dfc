import type { GenerationRequest, Tool } from '../../lambdas/protocols/generation.ts';
import type { Directives } from './directives.ts';
import { sampleOf } from './schema-sample.ts';

export type PlannedCall = Directives['calls'][number];

/** The tools this request lets the model call: none, one, some or all of those it offers. */
const callable = ({ tools = [], toolChoice }: GenerationRequest): Tool[] => {
  const offered = tools.filter((tool): tool is Tool => !('foreign' in tool));
  switch (toolChoice?.type) {
    case 'none':
      return [];
    case 'tool':
      return offered.filter(({ name }) => name === toolChoice.name);
    case 'auto':
    case 'required':
      return offered.filter(({ name }) => toolChoice.only?.includes(name) ?? true);
    default:
      return offered;
  }
};

const isForced = ({ toolChoice }: GenerationRequest): boolean =>
  toolChoice?.type === 'required' || toolChoice?.type === 'tool';

/** The calls the prompt asks for, or the one that the tool choice demands; often none. */
export const planCalls = (request: GenerationRequest, directives: Directives): PlannedCall[] => {
  const tools = callable(request);
  const asked = directives.calls.filter(({ name }) => tools.some((tool) => tool.name === name));
  const forced = isForced(request) ? tools.slice(0, 1) : [];
  const calls =
    asked.length > 0
      ? asked
      : forced.map(({ name, parameters }) => ({
          name,
          arguments: JSON.stringify(sampleOf(parameters)),
        }));
  return request.parallelToolCalls === false ? calls.slice(0, 1) : calls;
};
