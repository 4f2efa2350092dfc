import { Grant, type IGrantable } from 'aws-cdk-lib/aws-iam';
import { Key } from 'aws-cdk-lib/aws-kms';
import { type ISecret, Secret } from 'aws-cdk-lib/aws-secretsmanager';
import { Construct } from 'constructs';
import type { Model } from '../lambdas/catalog/catalog.ts';
import { acknowledge } from './acknowledge.ts';
import { removalOf } from './function-parts.ts';
import type { Stage } from './stage.ts';

export type UpstreamSecretsProps = {
  stage: Stage;
  /** The catalog, whose targets name the fields of the secret. */
  models: Model[];
};

/** Returns the names of the credentials that the catalog's targets use, unique and sorted. */
const credentialNames = (models: Model[]): string[] => {
  const names = models.flatMap(({ targets }) => targets.flatMap(({ secret = [] }) => secret));
  return [...new Set(names)].sort();
};

/**
 * One secret for all upstreams, a JSON object: a secret costs $0.40 a month regardless of its size.
 */
export class UpstreamSecrets extends Construct {
  readonly secret: Pick<ISecret, 'secretArn' | 'secretName'>;
  /** Fields that the operator fills in, sorted; none if the role calls every target. */
  readonly names: string[];

  constructor(scope: Construct, id: string, { stage, models }: UpstreamSecretsProps) {
    super(scope, id);
    this.names = credentialNames(models);
    this.secret =
      stage.existingSecret === undefined
        ? this.create(stage)
        : Secret.fromSecretCompleteArn(this, 'Secret', stage.existingSecret);
  }

  private create(stage: Stage): Secret {
    const secret = new Secret(this, 'Secret', {
      description: `Upstream credentials of the model router, one field each: ${this.names.join(', ') || 'none'}`,
      // Constant: CloudFormation generates the value again whenever this template changes, so a
      // template with the catalog's names would overwrite real credentials when a model is added.
      generateSecretString: { secretStringTemplate: '{}', generateStringKey: 'placeholder' },
      removalPolicy: removalOf(stage),
      ...(stage.kmsKey !== undefined && {
        encryptionKey: Key.fromKeyArn(this, 'Key', stage.kmsKey),
      }),
    });
    acknowledge(secret, {
      'AwsSolutions-SMG4': 'The providers issue these credentials and offer no way to rotate them.',
    });
    return secret;
  }

  /** Grants GetSecretValue only: `Secret.grantRead` would add DescribeSecret. */
  grantValue(grantee: IGrantable): void {
    Grant.addToPrincipal({
      grantee,
      actions: ['secretsmanager:GetSecretValue'],
      resourceArns: [this.secret.secretArn],
    });
  }
}
