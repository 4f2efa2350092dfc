import type { Json } from '../bytes/json.ts';
import type { Citation } from '../generation.ts';

/** Where the text of a block is in a message's content, in characters. */
export type Span = { start: number; end: number };

/** Where `offset` bytes of a text end, in characters. */
const afterBytes = (text: string, offset: number): number =>
  Buffer.from(text).toString('utf8', 0, offset).length;

/** The pages that a message cites, as models that search the web state them. */
export const annotationsOf = (
  citations: Citation[],
  text: string,
  spanOf: (block: number) => Span | undefined,
): Json => {
  const annotations = citations.flatMap(({ url, title, block, start, end }) => {
    const span = block === undefined ? { start: 0, end: text.length } : spanOf(block);
    if (!span) return [];
    const at = (offset: number) =>
      block === undefined ? afterBytes(text, offset) : span.start + offset;
    const place = {
      start_index: start === undefined ? span.start : at(start),
      end_index: end === undefined ? span.end : at(end),
    };
    return [{ type: 'url_citation', url_citation: { ...place, title, url } }];
  });
  return annotations.length > 0 ? { annotations } : {};
};
