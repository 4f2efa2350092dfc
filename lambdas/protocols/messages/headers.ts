import type { GenerationRequest } from '../generation.ts';
import type { CallerHeaders, HeaderMap, WireTarget } from '../protocol.ts';

export const BETA_HEADER = 'anthropic-beta';
const BETA = /^[\w.-]{1,80}$/;
/** The router's limit against oversized headers. */
const MAX_BETAS = 32;

/** The betas of a header's value, without those that cannot be one. */
const callerBetas = (value = ''): string[] =>
  value
    .split(',')
    .map((beta) => beta.trim())
    .filter((beta) => BETA.test(beta))
    .slice(0, MAX_BETAS);

const PREFIX = 'anthropic-';
const VERSION_HEADER = 'anthropic-version';
/** The router's limits against oversized headers. */
const MAX_HEADERS = 16;
const VALUE = /^[\x20-\x7e]{1,400}$/;

/** The headers of a messages caller that its target gets: all that begin so, since clients add new ones. */
export const callerHeaders = (
  sent: CallerHeaders = {},
): Pick<GenerationRequest, 'betas' | 'headers'> => {
  const betas = callerBetas(sent[BETA_HEADER]);
  const others = Object.entries(sent).filter(
    ([name, value]) => name.startsWith(PREFIX) && name !== BETA_HEADER && VALUE.test(value),
  );
  return {
    ...(betas.length > 0 && { betas }),
    ...(others.length > 0 && { headers: Object.fromEntries(others.slice(0, MAX_HEADERS)) }),
  };
};

/** The vendor's first stable version, which every provider of the protocol knows. */
const VERSION = '2023-06-01';

/** The caller's version if the target's provider knows it, else the provider's newest one. */
const versionFor = ({ versions, versionsWithout = [] }: WireTarget, asked: string | undefined) => {
  const isKnown = (version: string): boolean =>
    versions?.includes(version) !== false && !versionsWithout.includes(version);
  if (asked !== undefined && isKnown(asked)) return asked;
  return versions?.filter(isKnown).toSorted().at(-1) ?? VERSION;
};

/** The headers of a call: the caller's, before them the betas of both, before them the target's own ones. */
export const headersFor = (request: GenerationRequest, catalogTarget: WireTarget): HeaderMap => {
  const { headers: own = {} } = withCallerBetas(catalogTarget, request);
  const fixed = new Set(Object.keys(own).map((name) => name.toLowerCase()));
  const version = versionFor(catalogTarget, request.headers?.[VERSION_HEADER]);
  const others = Object.entries({ ...request.headers, [VERSION_HEADER]: version });
  return { ...Object.fromEntries(others.filter(([name]) => !fixed.has(name))), ...own };
};

const isHeader = (name: string): boolean => name.toLowerCase() === BETA_HEADER;

const betasOf = ({ headers = {} }: WireTarget): string[] =>
  Object.entries(headers).flatMap(([name, value]) => (isHeader(name) ? callerBetas(value) : []));

/** All unless the profile lists them: clients send values that no vendor's types have. */
const forwarded = ({ betas = 'forward' }: WireTarget, { betas: asked = [] }: GenerationRequest) =>
  betas === 'forward' ? asked : asked.filter((beta) => betas.includes(beta));

/** The target with the caller's betas that its profile forwards, after its own ones, each once. */
export const withCallerBetas = (target: WireTarget, request: GenerationRequest): WireTarget => {
  const { betasWithout = [] } = target;
  const added = forwarded(target, request);
  if (added.length === 0 && betasWithout.length === 0) return target;
  const others = Object.entries(target.headers ?? {}).filter(([name]) => !isHeader(name));
  const all = [...new Set([...betasOf(target), ...added])];
  const betas = all.filter((beta) => !betasWithout.includes(beta));
  const headers: HeaderMap = Object.fromEntries(others);
  return {
    ...target,
    headers: betas.length > 0 ? { ...headers, [BETA_HEADER]: betas.join(',') } : headers,
  };
};

/**
 * Whether the target's headers request a beta, by the start of its name. Without it the vendor rejects
 * the beta's fields, and agents send them to every provider.
 */
export const requestsBeta = (target: WireTarget, name: string): boolean =>
  betasOf(target).some((beta) => beta.startsWith(name));

/** Whether the target, which has the forwarded betas, lacks one that the caller asked for. */
export const losesBeta = (target: WireTarget, { betas = [] }: GenerationRequest): boolean =>
  betas.some((beta) => !betasOf(target).includes(beta));
