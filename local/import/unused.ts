import { isRecord } from '../../lambdas/support/objects.ts';
import { isPriceMember } from './facts.ts';
import type { Note } from './imported.ts';
import { USED } from './litellm-config.ts';
import { placeOf } from './read-source.ts';

/** Lists of a running proxy have every member, most of them empty. */
const isEmpty = (value: unknown): boolean =>
  value === null ||
  value === undefined ||
  value === false ||
  value === 0 ||
  (Array.isArray(value) && value.length === 0) ||
  (isRecord(value) && Object.keys(value).length === 0);

const ALWAYS = 'the router always does';
const REASONS: [member: RegExp, reason: string][] = [
  [
    /^[rt]pm$/,
    'what the provider admits is the quota of a target, docs/providers.md#capacity; rpm counts as a share only',
  ],
  [/^tpm_limit$/, 'limits are of requests and of dollars, not of tokens a minute'],
  [
    /fallbacks$/,
    'a target that rejects a request is not replaced by another model: choose one that accepts it',
  ],
  [
    /^(?:temperature|top_p|seed|max_tokens|thinking|reasoning_effort|tools|stop|stream|n|extra_body|.*_penalty)$/,
    'callers send it',
  ],
  [/^modalities$|^num_ctx$|^max_new_tokens$/, 'callers send it, to a provider that takes it'],
  [
    /^additional_drop_params$|^allowed_openai_params$/,
    'what a provider rejects is learned, or stated in the profile of the target: docs/providers.md#profiles',
  ],
  [/tags?$|tag_filtering$|^metadata$/, 'callers send tags, which records keep: docs/costs.md'],
  [/^(?:set_verbose|json_logs|log_level|debug.*)$/, 'logs are lines of JSON: docs/operations.md'],
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
  [/_cost(?:_|$)/, 'add it to the prices of the target: docs/costs.md'],
  [/^cache_control/, 'marks of prompt caches are those of the profile: docs/prompt-caches.md'],
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

const reasonOf = (kind: Kind, member: string): string =>
  REASONS.find(([pattern]) => pattern.test(member))?.[1] ??
  (kind === 'info' ? 'the list of models has no such member' : 'the router has no such setting');

type Kind = keyof typeof USED;

/** The members of a value that are neither empty nor of the kind's counterparts. */
export const unusedIn = (kind: Kind, value: unknown, path: PropertyKey[]): Note[] => {
  if (!isRecord(value)) return [];
  const used: string[] = USED[kind];
  return Object.entries(value)
    .filter(
      ([member, found]) => !(used.includes(member) || isPriceMember(member) || isEmpty(found)),
    )
    .map(([member]) => ({ place: placeOf([...path, member]), reason: reasonOf(kind, member) }));
};

/** What of a configuration has no counterpart, but for the deployments that are left out, by their places in the list. */
export const unusedInConfig = (config: Record<string, unknown>, left: Set<number>): Note[] => [
  ...unusedIn('file', config, []),
  ...(['litellm_settings', 'router_settings', 'general_settings'] as const).flatMap((section) =>
    unusedIn(section, config[section], [section]),
  ),
  ...(Array.isArray(config.credential_list) ? config.credential_list : []).flatMap(
    (credential: unknown, index) =>
      isRecord(credential)
        ? unusedIn('params', credential.credential_values, [
            ...['credential_list', index, 'credential_values'],
          ])
        : [],
  ),
  ...(Array.isArray(config.model_list) ? config.model_list : []).flatMap(
    (entry: unknown, index) => {
      if (!isRecord(entry) || left.has(index)) return [];
      const path = ['model_list', index];
      return [
        ...unusedIn('entry', entry, path),
        ...unusedIn('params', entry.litellm_params, [...path, 'litellm_params']),
        ...unusedIn('info', entry.model_info, [...path, 'model_info']),
      ];
    },
  ),
];
