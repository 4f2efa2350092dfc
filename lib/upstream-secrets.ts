import { RemovalPolicy } from 'aws-cdk-lib';
import { Grant, type IGrantable } from 'aws-cdk-lib/aws-iam';
import { Secret } from 'aws-cdk-lib/aws-secretsmanager';
import { Construct } from 'constructs';
import type { Model } from '../lambdas/catalog/catalog.ts';
import { acknowledge } from './acknowledge.ts';
import type { Stage } from './stage.ts';

export type UpstreamSecretsProps = { stage: Stage; models: Model[] };

/** Names of the credentials that the catalog's targets use, each once, sorted. */
const credentialNames = (models: Model[]): string[] => {
  const names = models.flatMap(({ targets }) => targets.map(({ secret }) => secret));
  return [...new Set(names)].sort();
};

/** One secret for all upstreams, a JSON object: one secret costs $0.40 a month, whatever it holds. */
export class UpstreamSecrets extends Construct {
  readonly secret: Secret;
  /** Fields that the operator fills in. */
  readonly names: string[];

  constructor(scope: Construct, id: string, { stage, models }: UpstreamSecretsProps) {
    super(scope, id);
    this.names = credentialNames(models);
    this.secret = new Secret(this, 'Secret', {
      description: `Upstream credentials of the model router, one field each: ${this.names.join(', ')}`,
      // Constant on purpose. CloudFormation writes the value anew whenever this template changes, so
      // one that listed the catalog's names would replace real credentials when a model is added.
      generateSecretString: { secretStringTemplate: '{}', generateStringKey: 'placeholder' },
      removalPolicy: stage.protectData ? RemovalPolicy.RETAIN : RemovalPolicy.DESTROY,
    });
    acknowledge(this.secret, {
      'AwsSolutions-SMG4': 'The providers issue these credentials and offer no way to rotate them.',
    });
  }

  /** The value and nothing more: `Secret.grantRead` would add DescribeSecret. */
  grantValue(grantee: IGrantable): void {
    Grant.addToPrincipal({
      grantee,
      actions: ['secretsmanager:GetSecretValue'],
      resourceArns: [this.secret.secretArn],
    });
  }
}
