import type { Model, Target } from '../catalog/catalog.ts';
import { upstreamProtocols } from '../protocols/protocols.ts';
import { type Check, failed, ok, placeOf, warning } from './check.ts';

const CHECK = 'catalog';

/** Headers of credentials: a value in the catalog would be in the bundle and in the repository. */
const CREDENTIAL_HEADER = /^authorization$|api-key$/i;

const LOOPBACK = /^(?:127\.0\.0\.1|localhost|\[::1\])$/;

const checkAddress = (target: Target, model: Model, place: string): Check[] => {
  const { protocol, hostname, pathname } = new URL(target.baseUrl);
  const path = upstreamProtocols[target.protocol].path({
    ...target,
    maxOutputTokens: model.max_output_tokens,
  });
  const at = `${place}.baseUrl`;
  if (hostname.endsWith('.example')) {
    return [failed(CHECK, at, `${hostname} is an example host, which does not exist.`)];
  }
  if (pathname.replace(/\/$/, '').endsWith(path)) {
    return [failed(CHECK, at, `The router appends ${path}: remove it from baseUrl.`)];
  }
  return protocol === 'http:' && !LOOPBACK.test(hostname)
    ? [warning(CHECK, at, 'The credential is sent without TLS: use https.')]
    : [];
};

const checkHeaders = ({ headers = {} }: Target, place: string): Check[] =>
  Object.keys(headers)
    .filter((name) => CREDENTIAL_HEADER.test(name))
    .map((name) =>
      failed(
        CHECK,
        `${place}.headers.${name}`,
        'A credential belongs in the secret: use `secret`.',
      ),
    );

/** Its provider's counts correct the estimate from the tenth answer on. */
const REMOVED_TOKENIZER =
  'has no effect any more: remove it, counts are calibrated by what the provider counts.';

const checkCounting = ({ counting }: Target, place: string): Check[] =>
  counting?.tokenizer === undefined
    ? []
    : [warning(CHECK, `${place}.counting.tokenizer`, REMOVED_TOKENIZER)];

const isSameTarget = (one: Target, other: Target): boolean =>
  one.upstream === other.upstream && one.model === other.model && one.baseUrl === other.baseUrl;

const checkModel = (model: Model, index: number): Check[] => {
  const { targets, max_output_tokens: output, context_length: context } = model;
  const tooLong = output > context;
  return [
    ...(tooLong
      ? [failed(CHECK, `[${index}].max_output_tokens`, `${output} is above context_length.`)]
      : []),
    ...targets.flatMap((target, at) => {
      const place = placeOf(index, at);
      const first = targets.findIndex((other) => isSameTarget(other, target));
      return [
        ...checkAddress(target, model, place),
        ...checkHeaders(target, place),
        ...checkCounting(target, place),
        ...(first === at ? [] : [warning(CHECK, place, `The same target as [${first}].`)]),
      ];
    }),
  ];
};

/** Finds the mistakes of a valid catalog that need no call. */
export const checkCatalog = (models: Model[]): Check[] => {
  const found = models.flatMap(checkModel);
  if (found.length > 0) return found;
  const targets = models.reduce((sum, model) => sum + model.targets.length, 0);
  return [ok(CHECK, `${models.length} models, ${targets} targets`)];
};
