import { Validations } from 'aws-cdk-lib';
import type { IConstruct } from 'constructs';

/**
 * Suppresses findings of cdk-nag rules on one construct: rule id -> why the rule does not apply.
 */
export const acknowledge = (construct: IConstruct, reasons: Record<string, string>): void => {
  for (const [id, reason] of Object.entries(reasons)) {
    Validations.of(construct).acknowledge({ id, reason });
  }
};

export const acknowledgeFunction = (lambda: IConstruct): void =>
  acknowledge(lambda, {
    'Serverless-LambdaDLQ':
      'Invocations are synchronous; a dead-letter queue only receives asynchronous events.',
    'Serverless-LambdaTracing':
      'The request id connects all log lines; traces cost $5 per million and add no detail.',
  });
