import type { Model } from '../lambdas/catalog/catalog.ts';
import type { UpstreamProtocolName } from '../lambdas/protocols/protocol.ts';

/** Stands for the role: the embedded upstream knows no signatures. */
const ROLE = 'role';

/** A credential per `secret` name of the catalog. Only the embedded upstream accepts them. */
export const localCredentials = (models: Model[]): Record<string, string> =>
  Object.fromEntries(
    models.flatMap(({ targets }) =>
      targets.map(({ secret = ROLE }) => [secret, `local-${secret}`]),
    ),
  );

/** The same catalog with every target's address replaced by the embedded upstream's. */
export const atEmbeddedUpstream = (
  models: Model[],
  baseUrl: (protocol: UpstreamProtocolName) => string,
): Model[] =>
  models.map((model) => ({
    ...model,
    targets: model.targets.map(({ auth: _, ...target }) => ({
      secret: ROLE,
      ...target,
      baseUrl: baseUrl(target.protocol),
    })),
  }));

/** Credential names that the catalog uses and `secrets` lacks. */
export const missingCredentials = (models: Model[], secrets: Record<string, string>): string[] =>
  models
    .flatMap(({ targets }) => targets.flatMap(({ secret = [] }) => secret))
    .filter((name, index, all) => secrets[name] === undefined && all.indexOf(name) === index);
