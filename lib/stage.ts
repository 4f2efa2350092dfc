import { RetentionDays } from 'aws-cdk-lib/aws-logs';
import type { Node } from 'constructs';
import * as z from 'zod';

/** What `cdk … -c name=value` may say; the CLI passes every value as text. */
const StageContext = z.object({
  stage: z.enum(['dev', 'prod']).default('dev'),
  /** Also the kill switch: 0 refuses every request. */
  reservedConcurrency: z.coerce.number().int().min(0).max(100_000).optional(),
});

/** How one deployment of the stack differs from another. */
export type Stage = {
  name: 'dev' | 'prod';
  /** Data outlives a mistake: kept after `cdk destroy`, protected from deletion, restorable. */
  protectData: boolean;
  logRetention: RetentionDays;
  /**
   * Requests under way at once, one per execution environment. Absent means the account's limit: a
   * new account has too few (10) to reserve any, so a default here would fail its first deployment.
   */
  reservedConcurrency?: number;
};

const STAGES = {
  dev: { protectData: false, logRetention: RetentionDays.ONE_WEEK },
  prod: { protectData: true, logRetention: RetentionDays.ONE_MONTH },
} satisfies Record<Stage['name'], Pick<Stage, 'protectData' | 'logRetention'>>;

/** @throws Error that names the context value which is wrong. */
export const readStage = (node: Node): Stage => {
  const parsed = StageContext.safeParse({
    stage: node.tryGetContext('stage'),
    reservedConcurrency: node.tryGetContext('reservedConcurrency'),
  });
  if (!parsed.success) {
    throw new Error(`The stage is not valid.\n${z.prettifyError(parsed.error)}`);
  }
  const { stage: name, reservedConcurrency } = parsed.data;
  return {
    name,
    ...STAGES[name],
    ...(reservedConcurrency === undefined ? {} : { reservedConcurrency }),
  };
};
