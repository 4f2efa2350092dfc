import defaultModels from '../../lambdas/catalog/models.json' with { type: 'json' };
import { type Model, parseModels } from '../../lambdas/catalog/parse-models.ts';
import { omitUndefined } from '../../lambdas/support/objects.ts';

/** Models named after the behaviour of their only target. */
export const testModels = (): Model[] => {
  const [model] = parseModels(defaultModels);
  const [target] = model?.targets ?? [];
  if (!model || !target) throw new Error('The default catalog is empty.');
  const doing = (name: string, fault: string, firstEventTimeoutMs?: number): Model => ({
    ...model,
    id: `test/${name}`,
    targets: [{ ...target, model: `${name}${fault}`, ...omitUndefined({ firstEventTimeoutMs }) }],
  });
  return [
    doing('answers', ''),
    doing('refuses', '!status=503'),
    doing('fails', '!status=500'),
    doing('breaks', '!error=3'),
    doing('cut', '!reset=3'),
    doing('hangs', '!stall'),
    doing('fails-late', '!stall', 2_000),
    doing('stops', '!stall=4'),
    doing('dawdles', '!slow=15'),
  ];
};
