import { readFile } from 'node:fs/promises';
import * as z from 'zod';
import { type Model, parseModels } from '../lambdas/catalog/catalog.ts';
import { missingCredentials } from './local-catalog.ts';
import { UsageError } from './usage-error.ts';

const Secrets = z.record(z.string(), z.string().min(1));

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : `${error}`);

const readJson = async (path: string): Promise<unknown> => {
  try {
    return JSON.parse(await readFile(path, 'utf8'));
  } catch (cause) {
    // A parser's message quotes the text, and this may be the file of credentials.
    const reason = cause instanceof SyntaxError ? 'it is not JSON' : messageOf(cause);
    throw new UsageError(`Cannot read ${path}: ${reason}.`, { cause });
  }
};

const checked = <T>(path: string, check: () => T): T => {
  try {
    return check();
  } catch (cause) {
    throw new UsageError(`${path}: ${messageOf(cause)}`, { cause });
  }
};

const parseSecrets = (data: unknown): Record<string, string> => {
  const parsed = Secrets.safeParse(data);
  if (parsed.success) return parsed.data;
  throw new Error(`The secrets are not valid.\n${z.prettifyError(parsed.error)}`);
};

/** The user's own catalog with the credentials it names. @throws UsageError that names file and fault. */
export const readOwnCatalog = async (paths: {
  catalog: string;
  secrets: string;
}): Promise<{ catalog: Model[]; secrets: Record<string, string> }> => {
  const [models, credentials] = await Promise.all([
    readJson(paths.catalog),
    readJson(paths.secrets),
  ]);
  const catalog = checked(paths.catalog, () => parseModels(models));
  const secrets = checked(paths.secrets, () => parseSecrets(credentials));
  const missing = missingCredentials(catalog, secrets);
  if (missing.length > 0) {
    throw new UsageError(`${paths.secrets} lacks what the catalog names: ${missing.join(', ')}.`);
  }
  return { catalog, secrets };
};
