import type { Model } from '../lambdas/catalog/catalog.ts';
import type { UpstreamProtocolName } from '../lambdas/protocols/protocol.ts';

/** A credential per `secret` name of the catalog. Only the embedded upstream accepts them. */
export const localCredentials = (models: Model[]): Record<string, string> =>
  Object.fromEntries(
    models.flatMap(({ targets }) => targets.map(({ secret }) => [secret, `local-${secret}`])),
  );

/** The same catalog with every target's address replaced by the embedded upstream's. */
export const atEmbeddedUpstream = (
  models: Model[],
  baseUrl: (protocol: UpstreamProtocolName) => string,
): Model[] =>
  models.map((model) => ({
    ...model,
    targets: model.targets.map((target) => ({ ...target, baseUrl: baseUrl(target.protocol) })),
  }));

/** Credential names that the catalog uses and `secrets` lacks. */
export const missingCredentials = (models: Model[], secrets: Record<string, string>): string[] =>
  Object.keys(localCredentials(models)).filter((name) => secrets[name] === undefined);
