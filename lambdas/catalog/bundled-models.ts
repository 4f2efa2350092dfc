import models from '#models' with { type: 'json' };
import type { Model } from './parse-models.ts';

/** The catalog of a bundle, which was parsed when it was written (lib/bundle/bundle.ts): no start parses it again. */
export const bundledModels = models as unknown as Model[];
