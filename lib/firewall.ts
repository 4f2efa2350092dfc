import type { RestApi } from 'aws-cdk-lib/aws-apigateway';
import { CfnWebACL, CfnWebACLAssociation } from 'aws-cdk-lib/aws-wafv2';
import { Construct } from 'constructs';

export type FirewallProps = {
  restApi: RestApi;
  /** Requests of one address within five minutes; more are refused until it slows down. */
  rate: number;
};

/**
 * Keeps one address from using up everybody's concurrency before its key is even looked at. One rule and
 * nothing that reads bodies: prompts look like attacks. About $6 a month and $0.60 a million requests.
 */
export class Firewall extends Construct {
  constructor(scope: Construct, id: string, { restApi, rate }: FirewallProps) {
    super(scope, id);
    const visibility = (metricName: string) => ({
      cloudWatchMetricsEnabled: true,
      metricName,
      // Samples would hold headers, and with them keys.
      sampledRequestsEnabled: false,
    });
    const acl = new CfnWebACL(this, 'Acl', {
      scope: 'REGIONAL',
      defaultAction: { allow: {} },
      visibilityConfig: visibility('ModelRouterFirewall'),
      rules: [
        {
          name: 'rate-by-address',
          priority: 0,
          action: { block: {} },
          statement: { rateBasedStatement: { limit: rate, aggregateKeyType: 'IP' } },
          visibilityConfig: visibility('ModelRouterRateByAddress'),
        },
      ],
    });
    new CfnWebACLAssociation(this, 'Association', {
      webAclArn: acl.attrArn,
      resourceArn: restApi.deploymentStage.stageArn,
    });
  }
}
