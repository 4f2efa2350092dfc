import type { RestApi } from 'aws-cdk-lib/aws-apigateway';
import { CfnWebACL, CfnWebACLAssociation } from 'aws-cdk-lib/aws-wafv2';
import { Construct } from 'constructs';

export type FirewallProps = {
  restApi: RestApi;
  /**
   * Requests per IP address in five minutes. Above it the address is blocked until its rate drops.
   */
  rate: number;
};

/**
 * A WAF rate limit per IP address: stops one address from exhausting the concurrency before its API
 * key is checked. No rule inspects bodies, because prompts look like attacks. About $6 a month and
 * $0.60 per million requests.
 */
export class Firewall extends Construct {
  constructor(scope: Construct, id: string, { restApi, rate }: FirewallProps) {
    super(scope, id);
    const visibility = (metricName: string) => ({
      cloudWatchMetricsEnabled: true,
      metricName,
      // Samples contain headers, and those contain API keys.
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
