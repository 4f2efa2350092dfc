import { Target } from '../../lambdas/catalog/parse-models.ts';
import { describeIssue } from '../../lambdas/support/describe-issue.ts';
import { isOwnServer } from './chat-providers.ts';
import { createSecrets } from './credentials.ts';
import { type Env, referenceTo, variableIn } from './environment.ts';
import { type Facts, type Known, knownOf } from './facts.ts';
import { createUnique, type Note } from './imported.ts';
import type { Config, Entry, Params } from './litellm-config.ts';
import { isText, modeByName } from './modes.ts';
import { addressOf, providerOf } from './providers.ts';
import { placeOf } from './read-source.ts';

/** One deployment as a target, with what is known about its model. */
export type Deployment = {
  target: Target;
  provider: string;
  known: Known;
  order: number;
  share: number;
};
export type Group = { name: string; deployments: Deployment[] };

/** Rows of LiteLLM's table of models by their names. */
export type Table = Record<string, Facts>;

type Parts = { config: Config; env: Env; table: Table };

const MAX_TIMEOUT_MS = 300_000;
const FREE: Facts = { input_cost_per_token: 0, output_cost_per_token: 0 };
const LABEL = /^[\w.-]{1,80}$/;

const CREDENTIAL_HEADER = /^(?:authorization|x-api-key|api-key|x-goog-api-key|cookie)$/i;
/** A value that the file takes from a variable may be a credential. */
const isCredential = ([name, value]: [string, string]): boolean =>
  CREDENTIAL_HEADER.test(name) || variableIn(value) !== undefined;

const headersOf = ({ organization, extra_headers: extra }: Params) => {
  const given = Object.entries(extra ?? {}).filter((header) => !isCredential(header));
  const all = [...given, ...(organization ? [['openai-organization', organization]] : [])];
  return all.length === 0 ? {} : { headers: Object.fromEntries(all) };
};

const credentialHeadersIn = ({ extra_headers: extra }: Params, path: PropertyKey[]): Note[] =>
  Object.entries(extra ?? {})
    .filter(isCredential)
    .map(([name]) => ({
      place: placeOf([...path, 'extra_headers', name]),
      reason: 'a target has one credential, its api_key: docs/providers.md has authHeader',
    }));

const timeoutOf = ({ stream_timeout: seconds }: Params) => {
  const firstEventTimeoutMs = Math.round((seconds ?? 0) * 1_000);
  const isPossible = firstEventTimeoutMs > 0 && firstEventTimeoutMs <= MAX_TIMEOUT_MS;
  return isPossible ? { firstEventTimeoutMs } : {};
};

const regionOf = ({ region_name: region }: Params) =>
  region && LABEL.test(region) ? { region } : {};

const askedOf = ({ model, custom_llm_provider: provider, api_base: base }: Params) => ({
  ...{ model, provider },
  ...(base && { base }),
});

/** Sizes of a row of the table by any of the names that LiteLLM looks for. */
const rowsOf = (table: Table, provider: string, names: string[]): Facts[] =>
  names.flatMap((name) =>
    [name, `${provider}/${name}`].flatMap((key): Facts[] => {
      const row = table[key];
      return row ? [row] : [];
    }),
  );

/** Members that say where a deployment is. */
const PLACES = [
  ...['model', 'custom_llm_provider', 'api_base', 'api_version', 'aws_region_name'],
  ...['region_name', 'organization'],
] as const satisfies (keyof Params)[];

/** Why a deployment is left out, and the member of it that says so. */
type Fault = { member?: string; reason: string };

const unsetIn = (params: Params): Fault | undefined =>
  PLACES.flatMap((member): Fault[] => {
    const name = variableIn(params[member]);
    return name ? [{ member, reason: `the environment variable ${name} is not set` }] : [];
  })[0];

/** `claude-*` means every name that begins so, which a catalog has not; `*` of both is for addressOf. */
const PATTERN =
  'a name with * stands for any, and a catalog lists each name: list those that callers use';

const createReadDeployment = (parts: Parts, noCounterpart: Note[]) => {
  const { config, env, table } = parts;
  const { secrets, missing, nameOf } = createSecrets(env);
  const upstreams = new Map<string, string>();
  const unique = createUnique(40);
  /** The same for the same provider, address and credential. */
  const upstreamOf = (provider: string, baseUrl: string, secret: string): string => {
    const connection = JSON.stringify([provider, baseUrl, secret]);
    const name = upstreams.get(connection) ?? unique(provider.replaceAll(/[^a-z0-9-]/g, '-'));
    upstreams.set(connection, name);
    return name;
  };
  /** What the deployment states, and what its credential states of the rest: one of the database by its name alone. */
  const withCredential = (params: Params, path: PropertyKey[]): Params => {
    const { litellm_credential_name: name } = params;
    if (!name) return params;
    const shared = config.credential_list?.find((one) => one.credential_name === name);
    if (shared) return { ...shared.credential_values, ...params };
    noCounterpart.push({
      place: placeOf([...path, 'litellm_credential_name']),
      reason: `credential_list has no ${name}: state its address, if it has one, in the catalog`,
    });
    return { ...params, api_key: params.api_key ?? referenceTo(name) };
  };
  /** What is said about the model, the configuration above the table. */
  const factsOf = ({ litellm_params: params, model_info: info }: Entry): Facts[] => {
    const { provider, name } = providerOf(askedOf(params));
    const names = [info?.base_model, params.model, name].flatMap((known) => known ?? []);
    const free = isOwnServer(provider) ? [FREE] : [];
    // Its `max_tokens` is that of requests without one.
    const stated = { ...params, max_tokens: undefined };
    return [info ?? {}, stated, ...rowsOf(table, provider, names), ...free];
  };
  const addressIn = (params: Params, facts: Facts[]): ReturnType<typeof addressOf> => {
    const mode = facts.find((source) => source.mode)?.mode ?? modeByName(params.model);
    if (!isText(mode)) return `mode ${mode}, and the router serves text generation only`;
    return addressOf({
      ...{ ...askedOf(params), mode, env },
      version: params.api_version,
      region: params.aws_region_name ?? env.AWS_REGION_NAME ?? env.AWS_REGION,
    });
  };
  const targetOf = (params: Params, facts: Facts[]): Target | Fault => {
    const address = addressIn(params, facts);
    if (typeof address === 'string') {
      return { member: 'model', reason: `${params.model}: ${address}` };
    }
    const { provider } = providerOf(askedOf(params));
    const secret = address.auth ? undefined : nameOf(params.api_key, provider);
    const target = Target.safeParse(
      {
        upstream: upstreamOf(provider, address.baseUrl, secret ?? ''),
        ...address,
        ...(secret !== undefined && { secret }),
        ...headersOf(params),
        ...timeoutOf(params),
        ...regionOf(params),
      },
      { error: describeIssue },
    );
    if (target.success) return target.data;
    const [issue] = target.error.issues;
    return { reason: `as a target its ${issue?.path.join('.')} ${issue?.message}` };
  };
  const read = (entry: Entry, path: PropertyKey[]): Deployment | Fault => {
    const params = withCredential(entry.litellm_params, path);
    const unset = unsetIn(params);
    if (unset) return unset;
    if (entry.model_name.includes('*') && !params.model.includes('*')) return { reason: PATTERN };
    const facts = factsOf({ ...entry, litellm_params: params });
    const target = targetOf(params, facts);
    if ('reason' in target) return target;
    noCounterpart.push(...credentialHeadersIn(params, path));
    return {
      ...{ provider: providerOf(askedOf(params)).provider, target },
      known: knownOf(facts, target, entry.model_name),
      order: params.order ?? 0,
      share: params.weight ?? params.rpm ?? entry.rpm ?? 0,
    };
  };
  return { read, secrets, missing };
};

/** The deployments of each name, in the order of the file, and the places of those that are left out. */
export const readGroups = (parts: Parts, noCounterpart: Note[]) => {
  const { read, secrets, missing } = createReadDeployment(parts, noCounterpart);
  const groups = new Map<string, Group>();
  const left = new Set<number>();
  for (const [index, entry] of parts.config.model_list.entries()) {
    const path = ['model_list', index, 'litellm_params'];
    const deployment = read(entry, path);
    if ('reason' in deployment) {
      const { member, reason } = deployment;
      left.add(index);
      noCounterpart.push({ place: placeOf([...path, ...(member ? [member] : [])]), reason });
      continue;
    }
    const name = entry.model_name;
    const group = groups.get(name) ?? { name, deployments: [] };
    group.deployments.push(deployment);
    groups.set(name, group);
  }
  return { groups, left, secrets, missing: [...missing] };
};
