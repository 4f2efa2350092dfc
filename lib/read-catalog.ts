import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import type { Node } from 'constructs';
import * as z from 'zod';
import defaultModels from '../lambdas/catalog/models.json' with { type: 'json' };
import { type Model, parseModels } from '../lambdas/catalog/parse-models.ts';
import { createCheckModels } from '../lambdas/catalog/scope.ts';
import { ConfigurationError } from './configuration-error.ts';

export type CatalogChoice = {
  /** Absolute path of the operator's catalog; undefined for the default catalog. */
  file: string | undefined;
  models: Model[];
};

const parseFile = <T>(path: string, parse: (data: unknown) => T): T => {
  try {
    return parse(JSON.parse(readFileSync(path, 'utf8')));
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new ConfigurationError(`${path}: ${reason}`, { cause });
  }
};

/** The absolute path that an option names. */
const pathIn = (node: Node, option: string): string | undefined => {
  const choice: unknown = node.tryGetContext(option);
  if (choice === undefined) return undefined;
  if (typeof choice === 'string' && choice !== '') return resolve(choice);
  throw new ConfigurationError(`The option ${option} must be the path of a file.`);
};

/**
 * Reads the catalog of `-c catalog=FILE` (relative to the current directory), or the default
 * catalog.
 * @throws ConfigurationError with the file and the path of every invalid field
 */
export const readCatalog = (node: Node): CatalogChoice => {
  const file = pathIn(node, 'catalog');
  return { file, models: file ? parseFile(file, parseModels) : parseModels(defaultModels) };
};

const Labels = z.array(z.string()).exactOptional();
const Scoped = z
  .array(
    z.object({
      models: z.array(z.string()).exactOptional(),
      require: z.object({ region: Labels, retention: Labels }).exactOptional(),
    }),
  )
  .default([]);
const Seed = z.object({ plans: Scoped, keys: Scoped });

/**
 * Compares the models and labels of the plans and keys in the file of `-c seed=FILE`, which `admin apply` reads, with the catalog.
 * @throws ConfigurationError with the file and what no target has
 */
export const checkSeed = (node: Node, models: Model[]): void => {
  const file = pathIn(node, 'seed');
  if (!file) return;
  const checkModels = createCheckModels(models);
  parseFile(file, (data) => {
    for (const [list, entries] of Object.entries(Seed.parse(data))) {
      for (const [index, entry] of entries.entries()) checkModels(entry, `${list}.${index}.models`);
    }
  });
};
