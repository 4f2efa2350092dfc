import type { Model } from '../../lambdas/catalog/catalog.ts';
import type { UpstreamProtocolName } from '../../lambdas/protocols/protocol.ts';
import { modelOn, targetAt } from '../support/models.ts';

export const FAMILIES = ['chat', 'messages'] as const satisfies UpstreamProtocolName[];

/** The model whose only target speaks `protocol`: a second one would hide the first one's failures. */
export const idOn = (protocol: UpstreamProtocolName): string => `load/${protocol}`;

export const loadModels = (baseUrl: (protocol: UpstreamProtocolName) => string): Model[] =>
  FAMILIES.map((protocol) =>
    modelOn([targetAt(baseUrl(protocol), { protocol, upstream: protocol })], {
      id: idOn(protocol),
    }),
  );
