import { Validations } from 'aws-cdk-lib';
import type { IConstruct } from 'constructs';

/** Accepts findings of the security rules on one construct: rule id -> why it does not apply here. */
export const acknowledge = (construct: IConstruct, reasons: Record<string, string>): void => {
  for (const [id, reason] of Object.entries(reasons)) {
    Validations.of(construct).acknowledge({ id, reason });
  }
};

/** What every function of ours does without. */
export const acknowledgeFunction = (lambda: IConstruct): void =>
  acknowledge(lambda, {
    'Serverless-LambdaDLQ':
      'Callers wait for the answer; a dead letter queue keeps only events that nobody waits for.',
    'Serverless-LambdaTracing':
      'The request id ties all log lines together; traces are $5 a million and show no more.',
  });
