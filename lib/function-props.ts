import type { Code } from 'aws-cdk-lib/aws-lambda';
import type { Model } from '../lambdas/catalog/catalog.ts';
import type { Stage } from './stage.ts';
import type { Tables } from './tables.ts';
import type { UpstreamSecrets } from './upstream-secrets.ts';

/** What the stack gives each of its functions. */
export type FunctionProps = {
  stage: Stage;
  /** The catalog: the role may call the models of Amazon Bedrock that it names. */
  models: Model[];
  code: Code;
  tables: Tables;
  upstreamSecrets: UpstreamSecrets;
};
