/** Tokens of images and documents, and names like an unknown one: a late part of the bundle. */
export { sizeOfImage } from './image-size.ts';
export { tokensOfImage } from './image-tokens.ts';
export { nearMatches } from './near-matches.ts';
export { tokensOfPdf } from './pdf-pages.ts';
