import { inflateSync } from 'node:zlib';

/** As text and as a picture: 7,000 for 3 pages (https://platform.claude.com/docs/en/build-with-claude/pdf-support). */
const TOKENS_PER_PAGE = 2_300;
/** Of a PDF whose pages are not read: some 75 KB each. */
const PDF_CHARACTERS_PER_TOKEN = 43;

/** Of what may be inflated, what each stream uses besides its length. */
const STREAM_COST = 16_384;

/** Of a request: bytes that may still be inflated. */
type Budget = { inflatable: number };

const PAGE = /\/Type\s?\/Page\b/g;
const pagesIn = (objects: Buffer): number => objects.toString('latin1').match(PAGE)?.length ?? 0;

/**
 * Counts the pages of a file, also those in its object streams (ISO 32000-1, 7.5.7), where most writers keep them since PDF
 * 1.5.
 * @throws Error if a stream is not deflated, or the streams exceed the limit
 */
const countPages = (file: Buffer, budget: Budget): number => {
  let pages = pagesIn(file);
  let name = file.indexOf('/ObjStm');
  while (name !== -1) {
    if (budget.inflatable <= 0) return 0;
    const end = file.indexOf('endstream', name);
    const keywordEnd = file.indexOf('stream', name) + 'stream'.length;
    const start = keywordEnd + (file[keywordEnd] === 0x0d ? 2 : 1);
    const objects = inflateSync(file.subarray(start, end), { maxOutputLength: budget.inflatable });
    pages += pagesIn(objects);
    budget.inflatable -= objects.length + STREAM_COST;
    name = file.indexOf('/ObjStm', end);
  }
  return pages;
};

/** The tokens of a PDF in base64 by its pages, or by its size where they are encrypted, too many or not found. */
export const tokensOfPdf = (base64: string, budget: Budget): number => {
  const bySize = base64.length / PDF_CHARACTERS_PER_TOKEN;
  try {
    return countPages(Buffer.from(base64, 'base64'), budget) * TOKENS_PER_PAGE || bySize;
  } catch {
    // What a broken stream cost is unknown.
    budget.inflatable = Math.floor(budget.inflatable / 2);
    return bySize;
  }
};
