import { Target } from '../../lambdas/catalog/parse-models.ts';
import { describeIssue } from '../../lambdas/support/describe-issue.ts';
import { type Facts, type Known, knownOf } from './facts.ts';
import { createUnique, type Note } from './imported.ts';
import type { Config, Entry, Params } from './litellm-config.ts';
import { addressOf, credentialName, isOwnServer, providerOf } from './providers.ts';
import { errorAt, placeOf, type Source } from './read-source.ts';

export type Env = Record<string, string | undefined>;

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

type Parts = { source: Source; config: Config; env: Env; table: Table };

const MAX_TIMEOUT_MS = 300_000;
const FREE: Facts = { input_cost_per_token: 0, output_cost_per_token: 0 };
const TEXT_MODE = /^(?:chat|responses|completion)$/;
/** Names of models that generate no text, by mode, where neither the configuration nor a table (`--models`) states one. */
const OTHER_MODES: Record<string, RegExp> = {
  embedding: /embed/i,
  rerank: /rerank/i,
  moderation: /moderation/i,
  audio_transcription: /whisper|transcribe/i,
  audio_speech: /\btts\b/i,
  image_generation: /dall-e|gpt-image|imagen|stable-diffusion/i,
};
const modeByName = (model: string): string =>
  Object.keys(OTHER_MODES).find((mode) => OTHER_MODES[mode]?.test(model)) ?? 'chat';
const LABEL = /^[\w.-]{1,80}$/;

/** Reads `os.environ/NAME` from the environment, as LiteLLM does. */
const createReadValue =
  ({ source, config, env }: Parts) =>
  (value: string | null | undefined, path: PropertyKey[]): string | undefined => {
    const name = value?.startsWith('os.environ/') ? value.slice('os.environ/'.length) : undefined;
    if (name === undefined) return value ?? undefined;
    const found = config.environment_variables?.[name] ?? env[name];
    if (typeof found === 'string' && found !== '') return found;
    throw errorAt(source, path, `the environment variable ${name} is not set`);
  };

/** Credentials by name: a variable keeps its own, so that deployments share it. */
const createSecrets = ({ config, env }: Parts) => {
  const secrets: Record<string, string> = {};
  const missing = new Set<string>();
  const names = new Map<string, string>();
  const unique = createUnique(60);
  const ofVariable = (name: string): string => {
    const value = config.environment_variables?.[name] ?? env[name];
    if (typeof value === 'string' && value !== '') secrets[name] = value;
    else missing.add(name);
    return name;
  };
  const nameOf = (key: string | null | undefined, provider: string): string => {
    if (key?.startsWith('os.environ/')) return ofVariable(key.slice('os.environ/'.length));
    if (!key) return ofVariable(credentialName(provider));
    const known = names.get(key) ?? unique(provider);
    names.set(key, known);
    secrets[known] = key;
    return known;
  };
  return { secrets, missing, nameOf };
};

const CREDENTIAL_HEADER = /^(?:authorization|x-api-key|api-key|x-goog-api-key|cookie)$/i;

const headersOf = ({ organization, extra_headers: extra }: Params) => {
  const given = Object.entries(extra ?? {}).filter(([name]) => !CREDENTIAL_HEADER.test(name));
  const all = [...given, ...(organization ? [['openai-organization', organization]] : [])];
  return all.length === 0 ? {} : { headers: Object.fromEntries(all) };
};

const credentialHeadersIn = ({ extra_headers: extra }: Params, path: PropertyKey[]): Note[] =>
  Object.keys(extra ?? {})
    .filter((name) => CREDENTIAL_HEADER.test(name))
    .map((name) => ({
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

const askedOf = ({ model, custom_llm_provider: provider }: Params) => ({ model, provider });

/** Sizes of a row of the table by any of the names that LiteLLM looks for. */
const rowsOf = (table: Table, provider: string, names: string[]): Facts[] =>
  names.flatMap((name) =>
    [name, `${provider}/${name}`].flatMap((key): Facts[] => {
      const row = table[key];
      return row ? [row] : [];
    }),
  );

const createReadDeployment = (parts: Parts, noCounterpart: Note[]) => {
  const { config, env, source, table } = parts;
  const readValue = createReadValue(parts);
  const { secrets, missing, nameOf } = createSecrets(parts);
  const upstreams = new Map<string, string>();
  const unique = createUnique(40);
  /** The same for the same provider, address and credential. */
  const upstreamOf = (provider: string, baseUrl: string, secret: string): string => {
    const connection = JSON.stringify([provider, baseUrl, secret]);
    const name = upstreams.get(connection) ?? unique(provider.replaceAll(/[^a-z0-9-]/g, '-'));
    upstreams.set(connection, name);
    return name;
  };
  /** What the deployment states, and what its credential states of the rest. */
  const withCredential = (params: Params, path: PropertyKey[]): Params => {
    const { litellm_credential_name: name } = params;
    if (!name) return params;
    const shared = config.credential_list?.find((one) => one.credential_name === name);
    if (!shared) {
      const place = [...path, 'litellm_credential_name'];
      throw errorAt(source, place, `credential_list has no ${name}`);
    }
    return { ...shared.credential_values, ...params };
  };
  /** What is said about the model, the configuration above the table. */
  const factsOf = ({ litellm_params: params, model_info: info }: Entry): Facts[] => {
    const { provider, name } = providerOf(askedOf(params));
    const names = [info?.base_model, params.model, name].flatMap((known) => known ?? []);
    const free = isOwnServer(provider) ? [FREE] : [];
    return [info ?? {}, params, ...rowsOf(table, provider, names), ...free];
  };
  /** Undefined, with a note, if it is not of text or cannot be called. */
  const readAddress = (params: Params, facts: Facts[], path: PropertyKey[]) => {
    const mode = facts.find((source) => source.mode)?.mode ?? modeByName(params.model);
    const region = readValue(params.aws_region_name, [...path, 'aws_region_name']);
    const address = TEXT_MODE.test(mode)
      ? addressOf({
          ...{ ...askedOf(params), mode },
          base: readValue(params.api_base, [...path, 'api_base']),
          version: readValue(params.api_version, [...path, 'api_version']),
          region: region ?? env.AWS_REGION_NAME ?? env.AWS_REGION,
        })
      : `mode ${mode}, and the router serves text generation only`;
    if (typeof address !== 'string') return address;
    const place = placeOf([...path, 'model']);
    noCounterpart.push({ place, reason: `${params.model}: ${address}` });
    return undefined;
  };
  const read = (stated: Entry, index: number): Deployment | undefined => {
    const path = ['model_list', index, 'litellm_params'];
    const entry = { ...stated, litellm_params: withCredential(stated.litellm_params, path) };
    const { litellm_params: params, model_name: place } = entry;
    const facts = factsOf(entry);
    const address = readAddress(params, facts, path);
    if (!address) return undefined;
    noCounterpart.push(...credentialHeadersIn(params, path));
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
    if (!target.success) {
      const [issue] = target.error.issues;
      throw errorAt(source, path, `as a target its ${issue?.path.join('.')} ${issue?.message}`);
    }
    return {
      ...{ provider, target: target.data, known: knownOf(facts, address, place) },
      order: params.order ?? 0,
      share: params.weight ?? params.rpm ?? entry.rpm ?? 0,
    };
  };
  return { read, secrets, missing };
};

/** The deployments of each name, in the order of the file. */
export const readGroups = (parts: Parts, noCounterpart: Note[]) => {
  const { read, secrets, missing } = createReadDeployment(parts, noCounterpart);
  const groups = new Map<string, Group>();
  for (const [index, entry] of parts.config.model_list.entries()) {
    const deployment = read(entry, index);
    if (!deployment) continue;
    const name = entry.model_name;
    const group = groups.get(name) ?? { name, deployments: [] };
    group.deployments.push(deployment);
    groups.set(name, group);
  }
  return { groups, secrets, missing: [...missing] };
};
