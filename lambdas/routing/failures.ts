/** What failures of upstreams mean, for the caller and for breakers: a late part of the bundle. */
export { createFailure } from './breakers/failure.ts';
export { classifyFailure, errorOfAll } from './classify-failure.ts';
export { mapRejectedInput, rejectedParameter } from './rejected-input.ts';
