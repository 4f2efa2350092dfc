/** What failures of upstreams mean, for the caller and for breakers: a late part of the bundle. */
export { isOfModel, narrowed, withDifferences } from '../protocols/rejections/differences.ts';
export { createFailure } from './breakers/failure.ts';
export { denyTurn, mayCall, noteCall, noteStart, startPacing } from './breakers/pace.ts';
export { isOfAccount, provesTargetAlive, tripRuleFor } from './breakers/trip-rules.ts';
export { classifyFailure, errorOfAll } from './classify-failure.ts';
export { mapRejectedInput, rejectedParameter } from './rejected-input.ts';
