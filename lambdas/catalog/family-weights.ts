/** The weights of the families (bytesOfWeights in families.ts), which few requests read with before their response. */
import weights from './family-weights.json' with { type: 'json' };

export const WEIGHTS = weights;
