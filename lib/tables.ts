import { RemovalPolicy } from 'aws-cdk-lib';
import { AttributeType, Billing, TableV2 } from 'aws-cdk-lib/aws-dynamodb';
import { Grant, type IGrantable } from 'aws-cdk-lib/aws-iam';
import { Construct } from 'constructs';
import {
  KEYS_BY_PROJECT,
  PARTITION_KEY,
  type TableName,
  TTL_ATTRIBUTE,
} from '../lambdas/tables.ts';
import type { Stage } from './stage.ts';

const text = (name: string) => ({ name, type: AttributeType.STRING });

export type TablesProps = { stage: Stage };

/**
 * The four DynamoDB tables: API keys, their projects, the limits of plans, and the usage in meters.
 */
export class Tables extends Construct implements Record<TableName, TableV2> {
  readonly keys: TableV2;
  readonly plans: TableV2;
  readonly projects: TableV2;
  readonly meters: TableV2;

  constructor(scope: Construct, id: string, { stage }: TablesProps) {
    super(scope, id);
    const shared = {
      partitionKey: text(PARTITION_KEY),
      // On demand: an idle router costs nothing.
      billing: Billing.onDemand(),
      deletionProtection: stage.protectData,
      removalPolicy: stage.protectData ? RemovalPolicy.RETAIN : RemovalPolicy.DESTROY,
    };
    // Not for meters: a restored counter would allow quota that is already used.
    const restorable = {
      ...shared,
      pointInTimeRecoverySpecification: { pointInTimeRecoveryEnabled: stage.protectData },
    };
    const { indexName, partitionKey, sortKey } = KEYS_BY_PROJECT;
    this.keys = new TableV2(this, 'Keys', {
      ...restorable,
      globalSecondaryIndexes: [
        { indexName, partitionKey: text(partitionKey), sortKey: text(sortKey) },
      ],
    });
    this.plans = new TableV2(this, 'Plans', restorable);
    this.projects = new TableV2(this, 'Projects', restorable);
    this.meters = new TableV2(this, 'Meters', { ...shared, timeToLiveAttribute: TTL_ATTRIBUTE });
  }
}

/** Grants actions on the table only: `TableV2.grant` would include its indexes. */
export const grantOn = (table: TableV2, grantee: IGrantable, ...actions: string[]): void => {
  Grant.addToPrincipal({ grantee, actions, resourceArns: [table.tableArn] });
};

/** Grants the query that lists the keys of a project. */
export const grantKeysByProject = (tables: Tables, grantee: IGrantable): void => {
  const index = `${tables.keys.tableArn}/index/${KEYS_BY_PROJECT.indexName}`;
  Grant.addToPrincipal({ grantee, actions: ['dynamodb:Query'], resourceArns: [index] });
};
