import type { HttpEvent } from '../http/read-event.ts';

/** ARN of the caller whose signature API Gateway verified; set only for methods with IAM authorization. */
export const iamOperator = (event: HttpEvent): string | undefined =>
  'httpMethod' in event ? (event.requestContext.identity.userArn ?? undefined) : undefined;
