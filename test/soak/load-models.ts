import type { Model } from '../../lambdas/catalog/catalog.ts';
import { FAMILIES, type Family } from '../support/families.ts';
import { modelOn, targetAt } from '../support/models.ts';

/** The model whose only target speaks `protocol`: a second one would hide the first one's failures. */
export const idOn = (protocol: Family): string => `load/${protocol}`;

export const loadModels = (baseUrl: (protocol: Family) => string): Model[] =>
  FAMILIES.map((protocol) =>
    modelOn([targetAt(baseUrl(protocol), { protocol, upstream: protocol })], {
      id: idOn(protocol),
    }),
  );
