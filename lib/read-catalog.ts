import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import type { Node } from 'constructs';
import defaultModels from '../lambdas/catalog/models.json' with { type: 'json' };
import { type Model, parseModels } from '../lambdas/catalog/parse-models.ts';
import { ConfigurationError } from './configuration-error.ts';

export type CatalogChoice = {
  /** Absolute path of the operator's catalog; undefined for the default catalog. */
  file: string | undefined;
  models: Model[];
};

const parseFile = (path: string): Model[] => {
  try {
    return parseModels(JSON.parse(readFileSync(path, 'utf8')));
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new ConfigurationError(`${path}: ${reason}`, { cause });
  }
};

/**
 * Reads the catalog of `-c catalog=FILE` (relative to the current directory), or the default
 * catalog.
 * @throws ConfigurationError with the file and the path of every invalid field
 */
export const readCatalog = (node: Node): CatalogChoice => {
  const choice: unknown = node.tryGetContext('catalog');
  if (choice === undefined) return { file: undefined, models: parseModels(defaultModels) };
  if (typeof choice !== 'string' || choice === '') {
    throw new ConfigurationError('The option catalog must be the path of a file.');
  }
  const file = resolve(choice);
  return { file, models: parseFile(file) };
};
