import { type Model, parseModels } from '../../lambdas/catalog/parse-models.ts';
import type { Wire } from '../support/wires.ts';

const WIRES: Wire[] = ['chat', 'messages'];

/** A model on each of the strict upstreams. */
export const modelsOn = (urls: Record<Wire, string>): Model[] =>
  parseModels(
    WIRES.map((wire) => ({
      id: `zoo/${wire}`,
      display_name: `Zoo ${wire}`,
      created: 1_767_225_600,
      owned_by: 'zoo',
      context_length: 200_000,
      max_output_tokens: 8_192,
      streaming: true,
      tools: true,
      vision: true,
      input_price_per_m: 1,
      output_price_per_m: 2,
      targets: [
        { upstream: `zoo-${wire}`, protocol: wire, baseUrl: urls[wire], model: 'm', secret: 'zoo' },
      ],
    })),
  );
