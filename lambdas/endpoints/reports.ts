/** Routes without a generation: a separate file in the bundle, since few processes serve them. */
export { createCancel } from './cancel.ts';
export { createCountTokens } from './count-tokens.ts';
export { createExplainRequest } from './explain-request.ts';
export { createExplainSession } from './explain-session.ts';
export { createGetModel, createListModels } from './models.ts';
export { createGetUsage } from './quota-usage.ts';
