/** Maximum number of near matches in an error. */
const MAX_MATCHES = 3;
/** Longer texts are compared by their start, so that an unknown id costs microseconds per model. */
const COMPARED_LENGTH = 64;

/** A swapped, missing or wrong character in each four, at least one, at most three. */
const toleranceFor = (text: string): number =>
  Math.min(3, Math.max(1, Math.floor(text.length / 4)));

const normalized = (id: string): string => id.slice(0, COMPARED_LENGTH).toLowerCase();

/** The id without its vendor: the last part of the path. */
const nameOf = (id: string): string => id.slice(id.lastIndexOf('/') + 1);

/** Letters and digits in groups, e.g. `scribe`, `1` of `scribe-1`. */
const partsOf = (name: string): string[] => name.split(/[^a-z0-9]/).filter((part) => part !== '');

/** Levenshtein distance, one row at a time. */
const distance = (one: string, other: string): number => {
  let row = Array.from({ length: other.length + 1 }, (_, index) => index);
  for (let i = 1; i <= one.length; i++) {
    const next = [i];
    for (let j = 1; j <= other.length; j++) {
      const substituted = (row[j - 1] ?? 0) + (one[i - 1] === other[j - 1] ? 0 : 1);
      next.push(Math.min(substituted, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row[other.length] ?? 0;
};

/** 3 and up to one more for fewer wrong characters, 0 if they are too many. */
const typoScore = (one: string, other: string): number => {
  const tolerance = toleranceFor(one);
  if (Math.abs(one.length - other.length) > tolerance) return 0;
  const wrong = distance(one, other);
  return wrong <= tolerance ? 4 - wrong / 4 : 0;
};

/** 0: no resemblance. Case does not count, a missing or wrong vendor little. */
const resemblance = (wanted: string, id: string): number => {
  if (wanted === id) return 5;
  const [wantedName, name] = [nameOf(wanted), nameOf(id)];
  if (wantedName === name) return 4;
  const typo = Math.max(typoScore(wanted, id), typoScore(wantedName, name));
  if (typo > 0) return typo;
  const parts = partsOf(name);
  const wantedParts = partsOf(wantedName);
  // The dated or shortened form of a name: `scribe-1-20261120`, `scribe`.
  const shared = wantedParts.filter((part) => parts.includes(part));
  if (shared.length > 0 && shared.length === Math.min(parts.length, wantedParts.length)) return 2;
  return shared.some((part) => part.length > 3) ? 1 : 0;
};

/** The ids most like `wanted`, best first, at most three. */
const nearMatches = (wanted: string, ids: string[]): string[] =>
  ids
    .map((id) => ({ id, score: resemblance(normalized(wanted), normalized(id)) }))
    .filter(({ score }) => score > 0)
    .toSorted((one, other) => other.score - one.score)
    .slice(0, MAX_MATCHES)
    .map(({ id }) => id);

/** Every valid id, near matches first. */
export const validModelsText = (id: string, valid: string[]): string => {
  const near = nearMatches(id, valid);
  const hint = near.length > 0 ? `Did you mean ${near.join(' or ')}? ` : '';
  return `${hint}Valid models: ${[...new Set([...near, ...valid])].join(', ')}.`;
};
