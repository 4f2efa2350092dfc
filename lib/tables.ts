import { RemovalPolicy } from 'aws-cdk-lib';
import {
  AttributeType,
  Billing,
  CfnGlobalTable,
  type ITableV2,
  StreamViewType,
  type TablePropsV2,
  TableV2,
} from 'aws-cdk-lib/aws-dynamodb';
import { Grant, type IGrantable } from 'aws-cdk-lib/aws-iam';
import { Construct } from 'constructs';
import {
  KEYS_BY_PROJECT,
  PARTITION_KEY,
  SORT_KEY,
  type TableName,
  TTL_ATTRIBUTE,
} from '../lambdas/tables.ts';
import { removalOf } from './function-parts.ts';
import type { Stage } from './stage.ts';

const text = (name: string) => ({ name, type: AttributeType.STRING });

/** A table that the stack creates, or an existing one. */
export type Table = Pick<ITableV2, 'tableArn' | 'tableName'> & {
  readonly tableStreamArn?: string | undefined;
};

/** Tables that can outlive their stack; answers expire. */
type KeptTableName = Exclude<TableName, 'answers'>;

/** `answers`: undefined if the stage keeps no responses. */
export type Tables = Record<KeptTableName, Table> & { answers: Table | undefined };

/**
 * The DynamoDB tables: API keys, their projects, the limits of plans, the usage in meters, a record of each
 * request, the history (usage by day, closed periods, operators' changes), and the answers that are kept for
 * repeats of their requests, or that callers store.
 */
export const createTables = (parent: Construct, stage: Stage): Tables => {
  const scope = new Construct(parent, 'Tables');
  const shared = {
    partitionKey: text(PARTITION_KEY),
    // On demand: an idle router costs nothing.
    billing: Billing.onDemand(),
    deletionProtection: stage.protectData,
    removalPolicy: removalOf(stage),
  };
  // Not for meters: a restored counter would allow quota that is already used.
  const restorable = {
    ...shared,
    pointInTimeRecoverySpecification: { pointInTimeRecoveryEnabled: stage.protectData },
  };
  const idOf = (name: TableName) => `${name.charAt(0).toUpperCase()}${name.slice(1)}`;
  const create = (name: TableName, props: TablePropsV2): TableV2 => {
    const table = new TableV2(scope, idOf(name), props);
    if (stage.kmsKey !== undefined) encrypt(table, stage.kmsKey);
    return table;
  };
  /** The existing table of the stage options, or a new one. */
  const open = (name: KeptTableName, props: TablePropsV2): Table => {
    const existing = stage.existingTables[name];
    return existing === undefined
      ? create(name, props)
      : TableV2.fromTableName(scope, idOf(name), existing);
  };
  const expiring = { timeToLiveAttribute: TTL_ATTRIBUTE };
  const sorted = { sortKey: text(SORT_KEY), ...expiring };
  const { indexName, partitionKey, sortKey } = KEYS_BY_PROJECT;
  return {
    keys: open('keys', {
      ...restorable,
      globalSecondaryIndexes: [
        { indexName, partitionKey: text(partitionKey), sortKey: text(sortKey) },
      ],
    }),
    plans: open('plans', restorable),
    projects: open('projects', restorable),
    meters: open('meters', { ...shared, ...expiring }),
    records: open('records', {
      ...{ ...shared, ...sorted },
      ...(stage.otlp && { dynamoStream: StreamViewType.NEW_IMAGE }),
    }),
    history: open('history', { ...restorable, ...sorted }),
    // Deleted with the stack in every stage: what it holds expires within days anyway.
    answers:
      stage.replayHours === 0
        ? undefined
        : create('answers', {
            ...{ ...shared, ...expiring },
            ...{ deletionProtection: false, removalPolicy: RemovalPolicy.DESTROY },
          }),
  };
};

/**
 * Encrypts a table with a KMS key. `TableV2` sets a key only in a stack whose region is known at synth,
 * because each replica has its own.
 */
const encrypt = (table: TableV2, key: string): void => {
  const resource = table.node.defaultChild;
  if (!(resource instanceof CfnGlobalTable)) return;
  resource.addPropertyOverride('SSESpecification', { SSEEnabled: true, SSEType: 'KMS' });
  resource.addPropertyOverride('Replicas.0.SSESpecification', { KMSMasterKeyId: key });
};

/** The tables that the router and the admin function share, by the variables that name them. */
export const tableEnv = (tables: Tables) => ({
  KEYS_TABLE: tables.keys.tableName,
  PLANS_TABLE: tables.plans.tableName,
  METERS_TABLE: tables.meters.tableName,
  RECORDS_TABLE: tables.records.tableName,
  HISTORY_TABLE: tables.history.tableName,
});

/** Grants actions on the table only: `TableV2.grant` would include its indexes. */
export const grantOn = (table: Table, grantee: IGrantable, ...names: string[]): void => {
  const actions = names.map((name) => `dynamodb:${name}`);
  Grant.addToPrincipal({ grantee, actions, resourceArns: [table.tableArn] });
};

export const grantKeysByProject = (tables: Tables, grantee: IGrantable): void => {
  const index = `${tables.keys.tableArn}/index/${KEYS_BY_PROJECT.indexName}`;
  Grant.addToPrincipal({ grantee, actions: ['dynamodb:Query'], resourceArns: [index] });
};
