/** Tokens of images and documents: a late part of the bundle. */
export { sizeOfImage } from './image-size.ts';
export { tokensOfImage } from './image-tokens.ts';
export { tokensOfPdf } from './pdf-pages.ts';
