import { readFile } from 'node:fs/promises';
import { messageOf } from '../cli/cli-error.ts';
import { type Model, parseModels } from '../lambdas/catalog/parse-models.ts';
import { missingCredentials } from './local-catalog.ts';
import type { LocalOptions } from './start.ts';
import { fixable, UsageError } from './usage-error.ts';

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
const inFile = <T>(path: string, parse: () => T): T =>
  fixable(parse, (message) => `${path}: ${message}`);

/** A catalog's models. @throws UsageError with the path and the reason if the file is unreadable or invalid */
export const readModels = async (path: string): Promise<Model[]> => {
  const models = await readJson(path);
  return inFile(path, () => parseModels(models));
};

/** What no header can carry. Not the value: this is the file of credentials. */
const faultOf = (value: unknown): string | undefined => {
  if (typeof value !== 'string') return 'must be a text';
  if (value.trim() === '') return 'is empty';
  return /^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/.test(value)
    ? undefined
    : 'must have no line break, no space at an end, and ASCII characters only';
};

const parseSecrets = (data: unknown): Record<string, string> => {
  if (typeof data !== 'object' || data === null || Array.isArray(data)) {
    throw new Error('must be a JSON object: credentials by the names that the catalog uses.');
  }
  const faults = Object.entries(data).flatMap(([name, value]) => {
    const fault = faultOf(value);
    return fault === undefined ? [] : [`The credential '${name}' ${fault}.`];
  });
  if (faults.length > 0) throw new Error(faults.join('\n'));
  return data as Record<string, string>;
};

const NO_ROLE =
  'targets with "auth": "iam" need AWS credentials, and there are none. Sign in (aws sso login), or export AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and, of temporary credentials, AWS_SESSION_TOKEN.';

/** AWS's chain of providers stands for the function's role; loaded only if the catalog needs it. */
const findRoleCredentials = async (
  path: string,
): Promise<NonNullable<LocalOptions['roleCredentials']>> => {
  const { defaultProvider } = await import('@aws-sdk/credential-provider-node');
  const credentials = defaultProvider();
  try {
    await credentials();
  } catch (cause) {
    throw new UsageError(`${path}: ${NO_ROLE}`, { cause });
  }
  return credentials;
};

/**
 * Reads the user's catalog, the credentials it names, and those of the role if a target needs them.
 * @throws UsageError with the path and the reason if a file is unreadable, invalid or incomplete
 */
export const readOwnCatalog = async (paths: {
  catalog: string;
  secrets?: string | undefined;
}): Promise<Required<Pick<LocalOptions, 'catalog' | 'secrets'>> & LocalOptions> => {
  const catalog = await readModels(paths.catalog);
  const { secrets: file } = paths;
  const credentials = file === undefined ? {} : await readJson(file);
  const secrets = file === undefined ? {} : inFile(file, () => parseSecrets(credentials));
  const missing = missingCredentials(catalog, secrets).join(', ');
  if (missing !== '') {
    throw new UsageError(
      file === undefined
        ? `${paths.catalog}: needs credentials: ${missing}. Add --secrets FILE.`
        : `${file}: missing credentials: ${missing}.`,
    );
  }
  const needsRole = catalog.some(({ targets }) => targets.some(({ auth }) => auth !== undefined));
  const role = needsRole && { roleCredentials: await findRoleCredentials(paths.catalog) };
  return { catalog, secrets, ...role };
};
