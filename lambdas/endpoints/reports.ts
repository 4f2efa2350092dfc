/** What the holder of a key reads about past requests: a separate file in the bundle, since few processes serve it. */
export { createExplainRequest } from './explain-request.ts';
export { createExplainSession } from './explain-session.ts';
export { createGetUsage } from './quota-usage.ts';
