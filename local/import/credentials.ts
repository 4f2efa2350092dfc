import { credentialName, isOwnServer } from './chat-providers.ts';
import { type Env, variableIn } from './environment.ts';
import { createUnique } from './imported.ts';

/** Of a server that takes any. */
const ANY = 'none';

/** Credentials by name: a variable keeps its own, so that deployments share it. */
export const createSecrets = (env: Env) => {
  const secrets: Record<string, string> = {};
  const missing = new Set<string>();
  const names = new Map<string, string>();
  const unique = createUnique(60);
  const ofVariable = (name: string, otherwise?: string): string => {
    const value = env[name] || otherwise;
    if (value) secrets[name] = value;
    else missing.add(name);
    return name;
  };
  const nameOf = (key: string | null | undefined, provider: string): string => {
    const variable = variableIn(key);
    if (variable !== undefined) return ofVariable(variable);
    if (!key)
      return ofVariable(credentialName(provider, env), isOwnServer(provider) ? ANY : undefined);
    const known = names.get(key) ?? unique(provider);
    names.set(key, known);
    secrets[known] = key;
    return known;
  };
  return { secrets, missing, nameOf };
};
