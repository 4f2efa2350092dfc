import type { Model } from '../../lambdas/catalog/catalog.ts';
import type { CallerProtocolName } from '../../lambdas/protocols/protocol.ts';
import { modelOn, targetAt } from '../support/models.ts';

export const FAMILIES = ['chat', 'messages'] as const satisfies CallerProtocolName[];

/** The model whose only target speaks `protocol`: a second one would hide the first one's failures. */
export const idOn = (protocol: CallerProtocolName): string => `load/${protocol}`;

export const loadModels = (baseUrl: (protocol: CallerProtocolName) => string): Model[] =>
  FAMILIES.map((protocol) =>
    modelOn([targetAt(baseUrl(protocol), { protocol, upstream: protocol })], {
      id: idOn(protocol),
    }),
  );
