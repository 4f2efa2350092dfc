import { inflateSync } from 'node:zlib';

/** As text and as a picture: 7,000 for 3 pages (https://platform.claude.com/docs/en/build-with-claude/pdf-support). */
const TOKENS_PER_PAGE = 2_300;
/** Of a PDF whose pages are not read: some 75 KB each. */
const PDF_CHARACTERS_PER_TOKEN = 43;

/** Limits of what is inflated: 10 ms of CPU. */
const MAX_INFLATED = 4_194_304;
const MAX_STREAMS = 256;

const PAGE = /\/Type\s?\/Page\b/g;
const pagesIn = (objects: Buffer): number => objects.toString('latin1').match(PAGE)?.length ?? 0;

/** The object streams of a file (ISO 32000-1, 7.5.7): most writers keep pages in them since PDF 1.5. */
const findObjectStreams = (file: Buffer): Buffer[] => {
  const streams: Buffer[] = [];
  let name = file.indexOf('/ObjStm');
  while (name !== -1 && streams.length <= MAX_STREAMS) {
    const end = file.indexOf('endstream', name);
    if (end === -1) break;
    let start = file.indexOf('stream', name) + 'stream'.length;
    while (file[start] === 0x0d || file[start] === 0x0a) start += 1;
    streams.push(file.subarray(start, end));
    name = file.indexOf('/ObjStm', end);
  }
  return streams;
};

/** @throws Error if a stream is not deflated, or the streams exceed the limits */
const countPages = (file: Buffer): number => {
  const streams = findObjectStreams(file);
  if (streams.length > MAX_STREAMS) throw new Error('The file has too many object streams.');
  let pages = pagesIn(file);
  let left = MAX_INFLATED;
  for (const stream of streams) {
    const objects = inflateSync(stream, { maxOutputLength: left });
    left -= objects.length;
    pages += pagesIn(objects);
  }
  return pages;
};

/** The tokens of a PDF in base64 by its pages, or by its size where they are encrypted, too many or not found. */
export const tokensOfPdf = (base64: string): number => {
  const bySize = base64.length / PDF_CHARACTERS_PER_TOKEN;
  try {
    return countPages(Buffer.from(base64, 'base64')) * TOKENS_PER_PAGE || bySize;
  } catch {
    return bySize;
  }
};
