import type { Note } from './imported.ts';
import { placeOf } from './read-source.ts';

type Members = Record<string, unknown>;

const isMembers = (value: unknown): value is Members =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Members of a configuration that have a counterpart. */
const USED = {
  file: 'model_list litellm_settings router_settings general_settings environment_variables',
  entry: 'model_name litellm_params model_info rpm',
  params:
    'model custom_llm_provider api_key api_base api_version aws_region_name region_name ' +
    'organization extra_headers stream_timeout weight order rpm input_cost_per_token ' +
    'output_cost_per_token cache_read_input_token_cost',
  info:
    'base_model mode max_tokens max_input_tokens max_output_tokens supports_vision ' +
    'supports_function_calling input_cost_per_token output_cost_per_token ' +
    'cache_read_input_token_cost id',
  litellm_settings:
    'fallbacks default_fallbacks model_alias_map max_budget budget_duration ' +
    'max_end_user_budget default_team_settings',
  router_settings: 'fallbacks default_fallbacks model_group_alias',
  general_settings: '',
  team:
    'team_id team_alias max_budget budget_duration rpm_limit max_parallel_requests models ' +
    'blocked',
  key:
    'token key_alias key_name team_id expires max_budget budget_duration rpm_limit ' +
    'max_parallel_requests models blocked',
} satisfies Record<string, string>;

/** Lists of a running proxy have every member, most of them empty. */
const isEmpty = (value: unknown): boolean =>
  value === null ||
  value === undefined ||
  value === false ||
  value === 0 ||
  (Array.isArray(value) && value.length === 0) ||
  (isMembers(value) && Object.keys(value).length === 0);

const ALWAYS = 'the router always does';
const REASONS: [member: RegExp, reason: string][] = [
  [/^tpm(?:_limit)?$/, 'limits are of requests and of dollars, not of tokens a minute'],
  [
    /fallbacks$/,
    'a target that rejects a request is not replaced by another model: choose one that accepts it',
  ],
  [
    /^(?:temperature|top_p|seed|max_tokens|thinking|reasoning_effort|tools|stop)$/,
    'callers send it',
  ],
  [/^drop_params$|^modify_params$/, `${ALWAYS}, and names what it leaves out in x-router-dropped`],
  [
    /^(?:num_retries|max_retries|retry_|allowed_fails|cooldown_time|.*_policy$)/,
    'failover and breakers need no numbers: docs/reliability.md',
  ],
  [/timeout/, 'time limits are fixed but for that of the first content: docs/reliability.md'],
  [
    /^routing_strategy|^enable_pre_call_checks$/,
    'targets of one tier share the sessions by weight: docs/providers.md',
  ],
  [
    /callback|^langfuse|^service_|^turn_off_message_logging$|otel/,
    'records, exports and OpenTelemetry: docs/records.md',
  ],
  [/^cache/, 'responses are kept for an Idempotency-Key only: docs/replay.md'],
  [
    /^redis|^database|^store_model_in_db$|_db_|^proxy_b/,
    'state is in the tables of the stack, or in the folder of --data',
  ],
  [/^master_key$/, 'operators sign with AWS, or send MODEL_ROUTER_ADMIN_SECRET: docs/admin.md'],
  [
    /^aws_(?:access|secret|session|role|profile)/,
    'the role of the function signs: docs/providers.md#amazon-bedrock',
  ],
  [
    /guardrail|^mcp_|^vector_store|^search_tools$|^pass_through|^finetune|^files_|^prompts$/,
    'the router serves text generation only',
  ],
  [/budget/, 'budgets are of organisations, projects, keys, users and sessions: docs/budgets.md'],
  [
    /^members|^admins$|_by$|^user_id$|^organization_id$/,
    'users of the console are invited: admin members invite',
  ],
  [/^include$/, 'import that file too'],
  [
    /^(?:spend|model_spend|.*_at|last_.*|keys|id)$/,
    'the state of the other proxy is not carried over',
  ],
];

const reasonOf = (member: string): string =>
  REASONS.find(([pattern]) => pattern.test(member))?.[1] ?? 'the router has no such setting';

/** The members of a value that are neither empty nor of the kind's counterparts. */
export const unusedIn = (kind: keyof typeof USED, value: unknown, path: PropertyKey[]): Note[] => {
  if (!isMembers(value)) return [];
  const used = USED[kind].split(' ');
  return Object.entries(value)
    .filter(([member, found]) => !used.includes(member) && !isEmpty(found))
    .map(([member]) => ({ place: placeOf([...path, member]), reason: reasonOf(member) }));
};

/** What of a configuration has no counterpart, but for the models that cannot be called. */
export const unusedInConfig = (config: Members): Note[] => [
  ...unusedIn('file', config, []),
  ...(['litellm_settings', 'router_settings', 'general_settings'] as const).flatMap((section) =>
    unusedIn(section, config[section], [section]),
  ),
  ...(Array.isArray(config.model_list) ? config.model_list : []).flatMap(
    (entry: unknown, index) => {
      if (!isMembers(entry)) return [];
      const path = ['model_list', index];
      return [
        ...unusedIn('entry', entry, path),
        ...unusedIn('params', entry.litellm_params, [...path, 'litellm_params']),
        ...unusedIn('info', entry.model_info, [...path, 'model_info']),
      ];
    },
  ),
];
