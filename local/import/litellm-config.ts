import * as z from 'zod';
import { Facts, unquoted } from './facts.ts';

const Text = z.string().nullish();
/** YAML may have it in quotes. */
const Amount = z.preprocess(unquoted, z.number().nonnegative().nullish()).optional();

const OwnParams = z.looseObject({
  model: z.string().min(1),
  custom_llm_provider: Text,
  api_key: Text,
  api_base: Text,
  api_version: Text,
  aws_region_name: Text,
  region_name: Text,
  organization: Text,
  extra_headers: z.record(z.string(), z.string()).nullish(),
  litellm_credential_name: Text,
  stream_timeout: Amount,
  weight: Amount,
  order: Amount,
  rpm: Amount,
});
/** Of LiteLLM's table some are 0. */
const size = z.preprocess(unquoted, z.int().positive().nullish()).optional();
const OwnFacts = Facts.extend({
  max_input_tokens: size,
  max_output_tokens: size,
  max_tokens: size,
});
const Params = OwnFacts.extend(OwnParams.shape);
export type Params = z.infer<typeof Params>;

const Info = OwnFacts.extend({ base_model: Text });
const Entry = z.looseObject({
  model_name: z.string().min(1),
  litellm_params: Params,
  rpm: Amount,
  model_info: Info.nullish(),
});
export type Entry = z.infer<typeof Entry>;

/** `[{"gpt-5": ["claude"]}]` */
const Fallbacks = z.array(z.record(z.string(), z.array(z.string()))).nullish();

const Aliases = z
  .record(z.string(), z.union([z.string(), z.looseObject({ model: z.string() })]))
  .nullish();

const Routing = { fallbacks: Fallbacks, default_fallbacks: z.array(z.string()).nullish() };

const Settings = z.looseObject({
  ...Routing,
  model_alias_map: z.record(z.string(), z.string()).nullish(),
  max_budget: Amount,
  budget_duration: Text,
  max_end_user_budget: Amount,
  default_team_settings: z.array(z.looseObject({ team_id: z.string() })).nullish(),
});
const RouterSettings = z.looseObject({ ...Routing, model_group_alias: Aliases });

/** Members of `litellm_params` that several deployments share by a name. */
const Credential = z.looseObject({
  credential_name: z.string().min(1),
  credential_values: OwnParams.partial(),
});

/** What of a configuration of LiteLLM's proxy has a counterpart; unused.ts names the rest. */
export const Config = z.looseObject({
  model_list: z.array(Entry).min(1),
  credential_list: z.array(Credential).nullish(),
  litellm_settings: Settings.nullish(),
  router_settings: RouterSettings.nullish(),
  environment_variables: z.record(z.string(), z.unknown()).nullish(),
});
export type Config = z.infer<typeof Config>;

const Limits = {
  max_budget: Amount,
  budget_duration: Text,
  rpm_limit: Amount,
  max_parallel_requests: Amount,
  models: z.array(z.string()).nullish(),
  blocked: z.boolean().nullish(),
};

const Team = z.looseObject({ team_id: z.string().min(1), team_alias: Text, ...Limits });
export type Team = z.infer<typeof Team>;
/** The answer of `GET /team/list`. */
export const Teams = z.array(Team);

const Key = z.looseObject({
  key_alias: Text,
  key_name: Text,
  team_id: Text,
  expires: Text,
  ...Limits,
});
export type Key = z.infer<typeof Key>;
/** The answer of `GET /key/list?return_full_object=true` has it as `keys`. */
export const Keys = z.array(Key);

const membersOf = ({ shape }: { shape: object }, ...others: string[]): string[] => [
  ...Object.keys(shape),
  ...others,
];

/** Of a deployment `max_tokens` is what a request without it gets, and `rpm` a limit, too. */
const isCounterpart = (member: string): boolean => member !== 'max_tokens' && member !== 'rpm';

/** Members that have a counterpart, by where they are. */
export const USED = {
  file: membersOf(Config, 'general_settings'),
  entry: membersOf(Entry).filter(isCounterpart),
  params: membersOf(Params).filter(isCounterpart),
  info: membersOf(Info, 'id'),
  litellm_settings: membersOf(Settings),
  router_settings: membersOf(RouterSettings),
  general_settings: [],
  team: membersOf(Team),
  key: membersOf(Key, 'token'),
} satisfies Record<string, string[]>;
