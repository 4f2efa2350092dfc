import type { HttpEvent } from '../http/read-event.ts';

/** ARN of the caller whose signature API Gateway has checked; only methods that ask IAM have one. */
export const iamOperator = (event: HttpEvent): string | undefined =>
  'httpMethod' in event ? (event.requestContext.identity.userArn ?? undefined) : undefined;
