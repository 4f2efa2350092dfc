/** Tokens of images and documents, names like an unknown one, and who may not choose: a late part of the bundle. */
export { assertChosenHere, policyNotMet } from './assert-chosen-here.ts';
export { sizeOfImage } from './image-size.ts';
export { tokensOfImage } from './image-tokens.ts';
export { validModelsText } from './near-matches.ts';
export { tokensOfPdf } from './pdf-pages.ts';
