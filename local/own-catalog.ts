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
    // JSON.parse quotes the text in its message, and this may be the credentials file.
    const reason = cause instanceof SyntaxError ? 'not valid JSON' : messageOf(cause);
    throw new UsageError(`Cannot read ${path}: ${reason}.`, { cause });
  }
};

/** Prefixes the error of `parse` with the path. */
const inFile = <T>(path: string, parse: () => T): T => {
  try {
    return parse();
  } catch (cause) {
    throw new UsageError(`${path}: ${messageOf(cause)}`, { cause });
  }
};

const parseSecrets = (data: unknown): Record<string, string> => {
  const parsed = Secrets.safeParse(data);
  if (parsed.success) return parsed.data;
  throw new Error(`The secrets are invalid.\n${z.prettifyError(parsed.error)}`);
};

/**
 * Reads the user's catalog and the credentials it names.
 * @throws UsageError with the path and the reason if a file is unreadable, invalid or incomplete
 */
export const readOwnCatalog = async (paths: {
  catalog: string;
  secrets: string;
}): Promise<{ catalog: Model[]; secrets: Record<string, string> }> => {
  const [models, credentials] = await Promise.all([
    readJson(paths.catalog),
    readJson(paths.secrets),
  ]);
  const catalog = inFile(paths.catalog, () => parseModels(models));
  const secrets = inFile(paths.secrets, () => parseSecrets(credentials));
  const missing = missingCredentials(catalog, secrets);
  if (missing.length > 0) {
    throw new UsageError(`${paths.secrets}: missing credentials: ${missing.join(', ')}.`);
  }
  return { catalog, secrets };
};
