import { asArray, asRecord, asString, type Json } from '../bytes/json.ts';
import type { Usage } from '../generation.ts';

/** Models that are billed by the prompt that was grounded; later ones are billed by the query. */
const BY_PROMPT = /^gemini-[12]\b/;

/** Counts the searches of a response that the vendor bills: queries that are empty or repeated are free. */
export const createSearches = () => {
  const queries = new Set<string>();
  const sources = new Set<string>();
  let model = '';

  const read = ({ modelVersion }: Json, candidate: Json | undefined): void => {
    model = asString(modelVersion) ?? model;
    const grounding = asRecord(candidate?.groundingMetadata);
    for (const query of asArray(grounding?.webSearchQueries)) queries.add(asString(query) ?? '');
    // A stream has each of them once.
    for (const chunk of asArray(grounding?.groundingChunks))
      for (const source in asRecord(chunk)) sources.add(source);
  };

  /** The counts with the uses of web search, or of maps where the response has places and no pages. */
  const withUses = (usage: Usage | undefined): Usage | undefined => {
    queries.delete('');
    const isOfMaps = sources.has('maps') && !sources.has('web');
    // What the vendor finds in maps it bills also where it names no query.
    const least = isOfMaps ? 1 : 0;
    const most = BY_PROMPT.test(model) ? 1 : Number.POSITIVE_INFINITY;
    const searches = Math.min(most, Math.max(least, queries.size));
    if (!usage || searches === 0) return usage;
    const uses = { [isOfMaps ? 'google_maps' : 'web_search']: searches };
    return { ...usage, billing: { ...usage.billing, uses } };
  };
  return { read, withUses };
};
