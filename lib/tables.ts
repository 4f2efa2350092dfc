import { RemovalPolicy } from 'aws-cdk-lib';
import { AttributeType, Billing, TableV2 } from 'aws-cdk-lib/aws-dynamodb';
import { Construct } from 'constructs';
import { PARTITION_KEY, type TableName, TTL_ATTRIBUTE } from '../lambdas/tables.ts';
import type { Stage } from './stage.ts';

export type TablesProps = { stage: Stage };

/** The router's state: who may call (keys), how much (plans) and what is used up (meters). */
export class Tables extends Construct implements Record<TableName, TableV2> {
  readonly keys: TableV2;
  readonly plans: TableV2;
  readonly meters: TableV2;

  constructor(scope: Construct, id: string, { stage }: TablesProps) {
    super(scope, id);
    const shared = {
      partitionKey: { name: PARTITION_KEY, type: AttributeType.STRING },
      // On demand: an idle router costs nothing.
      billing: Billing.onDemand(),
      deletionProtection: stage.protectData,
      removalPolicy: stage.protectData ? RemovalPolicy.RETAIN : RemovalPolicy.DESTROY,
    };
    // Meters are left out: an earlier instant of a counter hands out quota that is already spent.
    const restorable = {
      ...shared,
      pointInTimeRecoverySpecification: { pointInTimeRecoveryEnabled: stage.protectData },
    };
    this.keys = new TableV2(this, 'Keys', restorable);
    this.plans = new TableV2(this, 'Plans', restorable);
    this.meters = new TableV2(this, 'Meters', { ...shared, timeToLiveAttribute: TTL_ATTRIBUTE });
  }
}
