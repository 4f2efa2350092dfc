import { isRecord } from '../../lambdas/support/objects.ts';

export type Env = Record<string, string | undefined>;

const REFERENCE = 'os.environ/';

export const referenceTo = (name: string): string => `${REFERENCE}${name}`;

/** The variable that a value names. */
export const variableIn = (value: unknown): string | undefined =>
  typeof value === 'string' && value.startsWith(REFERENCE)
    ? value.slice(REFERENCE.length)
    : undefined;

/** The environment of the proxy: the file's `environment_variables`, and then that of this process. */
export const environmentOf = (config: unknown, env: Env): Env => {
  const stated = isRecord(config) ? config.environment_variables : undefined;
  const own = Object.entries(isRecord(stated) ? stated : {}).map(([name, value]) => [
    name,
    typeof value === 'object' ? undefined : String(value),
  ]);
  return { ...env, ...Object.fromEntries(own.filter(([, value]) => value)) };
};

/** Members whose values may be credentials keep the name of the variable. */
const KEPT = /^(?:api_key|extra_headers|environment_variables)$/;

/** A value with those of the variables that it names, as LiteLLM reads it; a name that is not set stays. */
export const withVariables = (value: unknown, env: Env): unknown => {
  if (Array.isArray(value)) return value.map((item) => withVariables(item, env));
  if (isRecord(value)) {
    return Object.fromEntries(
      Object.entries(value).map(([name, item]) => [
        name,
        KEPT.test(name) ? item : withVariables(item, env),
      ]),
    );
  }
  return env[variableIn(value) ?? ''] || value;
};
