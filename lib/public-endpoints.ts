import { Duration, Fn, Stack } from 'aws-cdk-lib';
import {
  AuthorizationType,
  EndpointType,
  LambdaIntegration,
  ResponseTransferMode,
  RestApi,
} from 'aws-cdk-lib/aws-apigateway';
import {
  FunctionUrl,
  FunctionUrlAuthType,
  type IFunction,
  InvokeMode,
} from 'aws-cdk-lib/aws-lambda';
import { Construct } from 'constructs';
import { acknowledge } from './acknowledge.ts';
import { CustomDomain } from './custom-domain.ts';
import { Firewall } from './firewall.ts';
import { addGatewayResponses } from './gateway-responses.ts';
import type { Stage } from './stage.ts';

export type PublicEndpointsProps = {
  stage: Stage;
  /** The router function. */
  router: IFunction;
};

/**
 * Two public endpoints of the router function. The Function URL is free and invokes Lambda
 * directly; the REST API adds a custom domain, a firewall, throttling, and our envelope around
 * AWS's own errors.
 */
export class PublicEndpoints extends Construct {
  /** Undefined unless `stage.hasFunctionUrl`. */
  readonly functionUrl: FunctionUrl | undefined;
  readonly restApi: RestApi;
  /** Undefined unless `stage.domain` is set. */
  readonly customDomain: CustomDomain | undefined;

  constructor(scope: Construct, id: string, { stage, router }: PublicEndpointsProps) {
    super(scope, id);
    const { domain, firewallRate } = stage;
    this.functionUrl = stage.hasFunctionUrl ? this.openFunctionUrl(router) : undefined;
    this.restApi = this.openRestApi(stage, router);
    this.customDomain =
      domain && new CustomDomain(this, 'CustomDomain', { restApi: this.restApi, ...domain });
    if (firewallRate !== undefined) {
      new Firewall(this, 'Firewall', { restApi: this.restApi, rate: firewallRate });
    }
  }

  /** What callers should use: the custom domain, else the Function URL; undefined for the REST API's address. */
  get callerUrl(): string | undefined {
    if (this.customDomain) return `https://${this.customDomain.domain.domainName}`;
    return this.functionUrl && hostOnly(this.functionUrl.url);
  }

  private openFunctionUrl(router: IFunction): FunctionUrl {
    return new FunctionUrl(this, 'FunctionUrl', {
      function: router,
      // No IAM: provider SDKs cannot sign requests for AWS. The router checks API keys.
      authType: FunctionUrlAuthType.NONE,
      invokeMode: InvokeMode.RESPONSE_STREAM,
    });
  }

  private openRestApi(stage: Stage, router: IFunction): RestApi {
    const integration = new LambdaIntegration(router, {
      responseTransferMode: ResponseTransferMode.STREAM,
      timeout: Duration.minutes(15),
      scopePermissionToMethod: false,
    });
    const restApi = new RestApi(this, 'RestApi', {
      // Dimension of the API's metrics; CDK's default name is `RestApi` in every stack.
      restApiName: Stack.of(this).stackName,
      description: `Model router (${stage.name})`,
      // Idle timeout of a stream: 5 min for a regional API, 30 s for an edge-optimised one.
      endpointTypes: [EndpointType.REGIONAL],
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
  addAdminRoutes(admin: IFunction): void {
    const integration = new LambdaIntegration(admin, { allowTestInvoke: false });
    this.restApi.root
      .addResource('admin')
      .addResource('{proxy+}')
      .addMethod('ANY', integration, { authorizationType: AuthorizationType.IAM });
  }
}

/** The address without a trailing slash, so that paths can be appended. */
export const hostOnly = (url: string): string => `https://${Fn.select(2, Fn.split('/', url))}`;

const acknowledgeRestApi = (restApi: RestApi): void =>
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
