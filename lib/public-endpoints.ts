import { Duration, Fn, Stack } from 'aws-cdk-lib';
import * as apigateway from 'aws-cdk-lib/aws-apigateway';
import { Certificate } from 'aws-cdk-lib/aws-certificatemanager';
import * as lambda from 'aws-cdk-lib/aws-lambda';
import { CfnWebACL, CfnWebACLAssociation } from 'aws-cdk-lib/aws-wafv2';
import { Construct } from 'constructs';
import { acknowledge } from './acknowledge.ts';
import { addGatewayResponses } from './gateway-responses.ts';
import type { Stage } from './stage.ts';

/**
 * Two public endpoints of the router function. The Function URL is free and invokes Lambda
 * directly; the REST API adds a custom domain, a firewall, throttling, and our envelope around
 * AWS's own errors.
 */
export class PublicEndpoints extends Construct {
  /** Undefined unless `stage.hasFunctionUrl`. */
  readonly functionUrl: lambda.FunctionUrl | undefined;
  readonly restApi: apigateway.RestApi;
  /** Undefined unless `stage.domain` is set. */
  readonly customDomain: apigateway.DomainName | undefined;

  constructor(
    scope: Construct,
    id: string,
    { stage, router }: { stage: Stage; router: lambda.IFunction },
  ) {
    super(scope, id);
    const { domain, firewallRate } = stage;
    this.functionUrl = stage.hasFunctionUrl ? this.openFunctionUrl(router) : undefined;
    this.restApi = this.openRestApi(stage, router);
    this.customDomain = domain && openDomain(this, domain, this.restApi);
    if (firewallRate !== undefined) addFirewall(this, firewallRate, this.restApi);
  }

  /** What callers should use: the custom domain, else the Function URL; undefined for the REST API's address. */
  get callerUrl(): string | undefined {
    if (this.customDomain) return `https://${this.customDomain.domainName}`;
    return this.functionUrl && hostOnly(this.functionUrl.url);
  }

  private openFunctionUrl(router: lambda.IFunction): lambda.FunctionUrl {
    return new lambda.FunctionUrl(this, 'FunctionUrl', {
      function: router,
      // No IAM: provider SDKs cannot sign requests for AWS. The router checks API keys.
      authType: lambda.FunctionUrlAuthType.NONE,
      invokeMode: lambda.InvokeMode.RESPONSE_STREAM,
    });
  }

  private openRestApi(stage: Stage, router: lambda.IFunction): apigateway.RestApi {
    const integration = new apigateway.LambdaIntegration(router, {
      responseTransferMode: apigateway.ResponseTransferMode.STREAM,
      timeout: Duration.minutes(15),
      scopePermissionToMethod: false,
    });
    const restApi = new apigateway.RestApi(this, 'RestApi', {
      // Dimension of the API's metrics; CDK's default name is `RestApi` in every stack.
      restApiName: Stack.of(this).stackName,
      description: `Model router (${stage.name})`,
      // Idle timeout of a stream: 5 min for a regional API, 30 s for an edge-optimised one.
      endpointTypes: [apigateway.EndpointType.REGIONAL],
      deployOptions: {
        stageName: stage.name,
        throttlingRateLimit: stage.restThrottle.rate,
        throttlingBurstLimit: stage.restThrottle.burst,
      },
      cloudWatchRole: false,
    });
    // CDK's output of the URL; the stack has its own, `RestApiUrl`.
    restApi.node.tryRemoveChild('Endpoint');
    restApi.root.addMethod('ANY', integration);
    restApi.root.addResource('{proxy+}').addMethod('ANY', integration);
    addGatewayResponses(restApi, stage);
    acknowledgeRestApi(restApi);
    return restApi;
  }

  /**
   * Routes `/admin/*` of the REST API to the admin function, with IAM authorization on every
   * method. Operators sign with AWS credentials that may `execute-api:Invoke`, so there is no
   * second kind of password to distribute, rotate or lose.
   */
  addAdminRoutes(admin: lambda.IFunction): void {
    const integration = new apigateway.LambdaIntegration(admin, { allowTestInvoke: false });
    this.restApi.root
      .addResource('admin')
      .addResource('{proxy+}')
      .addMethod('ANY', integration, { authorizationType: apigateway.AuthorizationType.IAM });
  }
}

/** A custom domain of the REST API, without the stage in its paths. The operator creates the DNS record. */
const openDomain = (
  scope: Construct,
  { name, certificateArn }: NonNullable<Stage['domain']>,
  restApi: apigateway.RestApi,
): apigateway.DomainName => {
  const parent = new Construct(scope, 'CustomDomain');
  const domain = new apigateway.DomainName(parent, 'Name', {
    domainName: name,
    certificate: Certificate.fromCertificateArn(parent, 'Certificate', certificateArn),
    endpointType: apigateway.EndpointType.REGIONAL,
    securityPolicy: apigateway.SecurityPolicy.TLS_1_2,
  });
  domain.addBasePathMapping(restApi);
  return domain;
};

/**
 * A WAF rate limit per IP address in five minutes: stops one address from exhausting the concurrency before its API key is
 * checked. No rule inspects bodies, because prompts look like attacks. About $6 a month and $0.60 per million requests.
 */
const addFirewall = (scope: Construct, limit: number, restApi: apigateway.RestApi): void => {
  const parent = new Construct(scope, 'Firewall');
  const visibility = (metricName: string) => ({
    cloudWatchMetricsEnabled: true,
    metricName,
    // Samples contain headers, and those contain API keys.
    sampledRequestsEnabled: false,
  });
  const acl = new CfnWebACL(parent, 'Acl', {
    scope: 'REGIONAL',
    defaultAction: { allow: {} },
    visibilityConfig: visibility('ModelRouterFirewall'),
    rules: [
      {
        name: 'rate-by-address',
        priority: 0,
        action: { block: {} },
        statement: { rateBasedStatement: { limit, aggregateKeyType: 'IP' } },
        visibilityConfig: visibility('ModelRouterRateByAddress'),
      },
    ],
  });
  new CfnWebACLAssociation(parent, 'Association', {
    webAclArn: acl.attrArn,
    resourceArn: restApi.deploymentStage.stageArn,
  });
};

/** The address without a trailing slash, so that paths can be appended. */
export const hostOnly = (url: string): string => `https://${Fn.select(2, Fn.split('/', url))}`;

const acknowledgeRestApi = (restApi: apigateway.RestApi): void =>
  acknowledge(restApi, {
    'Serverless-APIGWAccessLogging':
      'The router logs every request; access logs need an account-wide role.',
    'Serverless-APIGWXrayEnabled':
      'The request id connects all log lines together; traces cost $5 per million and add no detail.',
    'AwsSolutions-APIG1': 'The router logs every request; access logs need an account-wide role.',
    'AwsSolutions-APIG2': 'The router validates requests, so that both endpoints respond alike.',
    'AwsSolutions-APIG3':
      'A firewall costs about $6 a month; the stage option firewallRate adds one.',
    'AwsSolutions-APIG4': 'The router checks API keys, so that both endpoints respond alike.',
    'AwsSolutions-APIG6': 'The router logs every request; execution logs would contain prompts.',
    'AwsSolutions-COG4': 'Callers are programs with API keys, not users of a user pool.',
  });
