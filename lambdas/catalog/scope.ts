import { invalidRequest } from '../support/errors.ts';
import { LABELS, type Labels, type Policy, policyText, targetsWithin } from './catalog.ts';

type Scope = { models?: string[] | undefined; require?: Policy | undefined };
type Served = { id: string; targets: Labels[] };

/** Rejects a plan that names models outside the catalog. @throws ApiError 400 */
export type CheckModels = (plan: Scope, path?: string) => void;

/** Words that no target of the catalog has, or the whole requirement if no target that may be used meets it. */
export const unknownWords = ({ require, models: ids }: Scope, models: Served[]): string[] => {
  if (!require) return [];
  const words = LABELS.flatMap((label) => {
    const known = new Set(models.flatMap(({ targets }) => targets.map((one) => one[label])));
    const unknown = require[label]?.filter((word) => !known.has(word)) ?? [];
    return unknown.map((word) => `${label} ${word}`);
  });
  const isMet = models.some(
    (model) => (ids?.includes(model.id) ?? true) && targetsWithin(model, require).length > 0,
  );
  return words.length > 0 || isMet ? words : [policyText(require)];
};

/** A misspelt model or label would otherwise be missing for every key of the plan, without an error. */
export const createCheckModels = (catalog: Served[]): CheckModels => {
  const catalogIds = catalog.map(({ id }) => id);
  return (plan, path = 'models') => {
    const { models = [] } = plan;
    const unknown = models.filter((id) => !catalogIds.includes(id));
    if (unknown.length > 0) {
      throw invalidRequest(
        `${path}: unknown model ${unknown.join(', ')}. The catalog has ${catalogIds.join(', ')}.`,
        { param: path },
      );
    }
    const [word] = unknownWords(plan, catalog);
    if (word === undefined) return;
    const param = path.replace(/models$/, 'require');
    const message = `${param}: no target of the catalog is labelled ${word}.`;
    throw invalidRequest(message, { param });
  };
};
