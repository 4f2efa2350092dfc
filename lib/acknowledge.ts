import { Validations } from 'aws-cdk-lib';
import type { IConstruct } from 'constructs';

/** Accepts findings of the security rules on one construct: rule id -> why it does not apply here. */
export const acknowledge = (construct: IConstruct, reasons: Record<string, string>): void => {
  for (const [id, reason] of Object.entries(reasons)) {
    Validations.of(construct).acknowledge({ id, reason });
  }
};
