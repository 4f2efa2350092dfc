import { isEmpty, omitUndefined } from '../../support/objects.ts';
import { asArray, asRecord, asString, type Json } from '../bytes/json.ts';
import type { Usage } from '../generation.ts';
import type { EventWriter } from '../streams/event-writer.ts';

/** The counts of a response. What tools put into its prompt is counted apart: of searches it is free. */
export type Counted = { usage: Usage; fromTools: number };

/** Models that are billed by the prompt that was grounded; later ones are billed by the query. */
const BY_PROMPT = /^gemini-[12]\b/;

const isSame = (one: unknown, other: unknown): boolean =>
  JSON.stringify(one) === JSON.stringify(other);

/** Whether it reads pages that the prompt names, or runs code: what that puts into the prompt is billed. */
const usesOtherTools = ({ urlContextMetadata, content }: Json): boolean =>
  urlContextMetadata !== undefined ||
  asArray(asRecord(content)?.parts).some((part) => asRecord(part)?.executableCode);

/** What the vendor searched for a response: what that is billed by, and the pages that parts of the text are supported by. */
export const createSearches = () => {
  const queries = new Set<string>();
  /** Supports as JSON: what is repeated is one citation. */
  const supports = new Set<string>();
  const sources: unknown[] = [];
  /** What the sources are of: pages of the web, places of maps. */
  const kinds = new Set<string>();
  let model = '';
  let hasOtherTools = false;

  /** A message of a stream has the sources that are new in it; some servers repeat those before. */
  const readSources = (more: unknown[]): void => {
    const isRepeated = more.length > 0 && isSame(more[0], sources[0]);
    for (const source of isRepeated ? more.slice(sources.length) : more) {
      sources.push(source);
      for (const kind in asRecord(source)) kinds.add(kind);
    }
  };

  const read = ({ modelVersion }: Json, candidate: Json = {}): void => {
    model = asString(modelVersion) ?? model;
    hasOtherTools ||= usesOtherTools(candidate);
    const { webSearchQueries, imageSearchQueries, groundingChunks, groundingSupports } =
      asRecord(candidate.groundingMetadata) ?? {};
    for (const query of [...asArray(webSearchQueries), ...asArray(imageSearchQueries)])
      queries.add(asString(query) ?? '');
    queries.delete('');
    readSources(asArray(groundingChunks));
    for (const support of asArray(groundingSupports)) supports.add(JSON.stringify(support));
  };

  /** Uses of web search, or of maps where the response has places and no pages: empty and repeated queries are free. */
  const uses = (): Record<string, number> | undefined => {
    const isOfMaps = kinds.has('maps') && !kinds.has('web');
    // What the vendor finds in maps it bills also where it names no query.
    const least = isOfMaps ? 1 : 0;
    const most = BY_PROMPT.test(model) ? 1 : Number.POSITIVE_INFINITY;
    const searches = Math.min(most, Math.max(least, queries.size));
    return searches === 0 ? undefined : { [isOfMaps ? 'google_maps' : 'web_search']: searches };
  };

  /** The counts with the uses, and without what searches put into the prompt, which is free. */
  const withUses = ({ usage, fromTools }: Counted): Usage => {
    const used = uses();
    const billing = omitUndefined({ ...usage.billing, uses: used });
    const isFree = used?.web_search !== undefined && !hasOtherTools;
    const inputTokens = usage.inputTokens + (isFree ? 0 : fromTools);
    const { billing: _, ...counts } = usage;
    return { ...counts, inputTokens, ...(!isEmpty(billing) && { billing }) };
  };

  /** Indices count the pages of all messages. */
  const cite = (writer: EventWriter): void => {
    for (const text of supports) {
      const { segment, groundingChunkIndices } = asRecord(JSON.parse(text)) ?? {};
      // The start is left out where it is 0.
      const { startIndex = 0, endIndex } = asRecord(segment) ?? {};
      for (const at of asArray(groundingChunkIndices)) {
        const { uri, title } = asRecord(asRecord(sources[Number(at)])?.web) ?? {};
        writer.cite(undefined, { url: uri, title, start: startIndex, end: endIndex });
      }
    }
  };
  return { read, withUses, cite };
};
