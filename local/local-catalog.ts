import type { Model } from '../lambdas/catalog/catalog.ts';
import type { ProtocolName } from '../lambdas/protocols/protocol.ts';

/** A credential for every name that the catalog's targets use. They open nothing but the embedded upstream. */
export const localCredentials = (models: Model[]): Record<string, string> =>
  Object.fromEntries(
    models.flatMap(({ targets }) => targets.map(({ secret }) => [secret, `local-${secret}`])),
  );

/** The same catalog with every target at the embedded upstream that speaks the target's protocol. */
export const atEmbeddedUpstream = (
  models: Model[],
  baseUrl: (protocol: ProtocolName) => string,
): Model[] =>
  models.map((model) => ({
    ...model,
    targets: model.targets.map((target) => ({ ...target, baseUrl: baseUrl(target.protocol) })),
  }));

/** Names of credentials that the catalog wants and `secrets` does not hold. */
export const missingCredentials = (models: Model[], secrets: Record<string, string>): string[] =>
  Object.keys(localCredentials(models)).filter((name) => secrets[name] === undefined);
