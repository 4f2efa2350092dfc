/** The same bodies without and with care for prompt caches: marks or a key, equal targets, a session, hashes of the parts. */
import type { Target } from '../../lambdas/catalog/catalog.ts';

type Side = {
  /** Tokens that the provider counts: of a prompt of fewer than 1,024 nothing is kept for explanations. */
  tokens: number;
  headers: Record<string, string>;
  /** What each of two targets has. */
  members: Partial<Target>;
};

export const WITHOUT: Side = {
  tokens: 1_000,
  headers: { 'x-router-cache': 'off' },
  members: {},
};

export const WITH: Side = {
  tokens: 9_000,
  headers: { 'x-claude-code-session-id': '0b3f3c0e-4a53-4d3b-9a4b-6f1c3a1f2a77' },
  members: { tier: 0, profile: { cacheMarks: '5m', cacheFields: ['prompt_cache_key'] } },
};

/** The model of a side, by the name from which the provider reads the shape of its responses. */
export const shapeOf = ({ tokens }: Side, to: string) => `bench/20${to}/of/${tokens}`;
