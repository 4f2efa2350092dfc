import { Duration, Stack } from 'aws-cdk-lib';
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

/**
 * Requests a second over all callers. A thousand environments at five seconds an answer serve 200; what
 * comes beyond a thousand is a flood.
 */
const THROTTLING = { throttlingRateLimit: 1000, throttlingBurstLimit: 2000 };

export type PublicEndpointsProps = { stage: Stage; router: IFunction };

/**
 * Two ways to the same function. The Function URL is free and has no middleman; the REST API adds a
 * domain, a firewall, throttling, and our envelope around the platform's own refusals.
 */
export class PublicEndpoints extends Construct {
  /** Absent with a firewall: nothing could stand in front of it. */
  readonly functionUrl: FunctionUrl | undefined;
  readonly restApi: RestApi;
  readonly customDomain: CustomDomain | undefined;

  constructor(scope: Construct, id: string, { stage, router }: PublicEndpointsProps) {
    super(scope, id);
    const { domain, firewallRate } = stage;
    this.functionUrl = firewallRate === undefined ? this.openFunctionUrl(router) : undefined;
    this.restApi = this.openRestApi(stage, router);
    this.customDomain =
      domain && new CustomDomain(this, 'CustomDomain', { restApi: this.restApi, ...domain });
    if (firewallRate !== undefined) {
      new Firewall(this, 'Firewall', { restApi: this.restApi, rate: firewallRate });
    }
  }

  private openFunctionUrl(router: IFunction): FunctionUrl {
    return new FunctionUrl(this, 'FunctionUrl', {
      function: router,
      // Signed requests are out of reach for the SDKs' users: the router checks API keys itself.
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
      // The name is what its metrics are told apart by; CDK's would be `RestApi` in every stack.
      restApiName: Stack.of(this).stackName,
      description: `Model router (${stage.name})`,
      // Regional: an edge-optimised API cuts a stream that is silent for 30 s, this one after 5 min.
      endpointTypes: [EndpointType.REGIONAL],
      deployOptions: { stageName: stage.name, ...THROTTLING },
      cloudWatchRole: false,
    });
    // The construct's own output; the stack has a better name for it.
    restApi.node.tryRemoveChild('Endpoint');
    restApi.root.addMethod('ANY', integration);
    restApi.root.addResource('{proxy+}').addMethod('ANY', integration);
    addGatewayResponses(restApi);
    acknowledgeRestApi(restApi);
    return restApi;
  }

  /**
   * Routes `/admin/*` of the REST API to the admin function, with IAM authorization: callers sign with
   * AWS credentials that may `execute-api:Invoke`, so there is no second kind of password to hand
   * out, rotate or lose.
   */
  addAdminRoutes(admin: IFunction): void {
    const integration = new LambdaIntegration(admin, { allowTestInvoke: false });
    this.restApi.root
      .addResource('admin')
      .addResource('{proxy+}')
      .addMethod('ANY', integration, { authorizationType: AuthorizationType.IAM });
  }
}

const acknowledgeRestApi = (restApi: RestApi): void =>
  acknowledge(restApi, {
    'Serverless-APIGWAccessLogging':
      'The router logs every request; access logs here need a role for the whole account.',
    'Serverless-APIGWXrayEnabled':
      'The request id ties all log lines together; traces are $5 a million and show no more.',
    'AwsSolutions-APIG1':
      'The router logs every request; access logs here need a role for the whole account.',
    'AwsSolutions-APIG2': 'The router validates requests, so that both front doors answer alike.',
    'AwsSolutions-APIG3': 'A firewall is a monthly charge; the stage option firewallRate adds one.',
    'AwsSolutions-APIG4': 'The router checks API keys, so that both front doors answer alike.',
    'AwsSolutions-APIG6': 'The router logs every request; execution logs would hold prompts.',
    'AwsSolutions-COG4': 'Callers are programs with API keys, not users of a user pool.',
  });
