import { Duration } from 'aws-cdk-lib';
import {
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
import { addGatewayResponses } from './gateway-responses.ts';
import type { Stage } from './stage.ts';

export type FrontDoorsProps = { stage: Stage; router: IFunction };

/**
 * Two ways to the same function. The Function URL is free and has no middleman; the REST API adds a
 * domain, a firewall, throttling, and our envelope around the platform's own refusals.
 */
export class FrontDoors extends Construct {
  readonly functionUrl: FunctionUrl;
  readonly restApi: RestApi;

  constructor(scope: Construct, id: string, { stage, router }: FrontDoorsProps) {
    super(scope, id);
    this.functionUrl = new FunctionUrl(this, 'FunctionUrl', {
      function: router,
      // Signed requests are out of reach for the SDKs' users: the router checks API keys itself.
      authType: FunctionUrlAuthType.NONE,
      invokeMode: InvokeMode.RESPONSE_STREAM,
    });

    const integration = new LambdaIntegration(router, {
      responseTransferMode: ResponseTransferMode.STREAM,
      timeout: Duration.minutes(15),
      scopePermissionToMethod: false,
    });
    this.restApi = new RestApi(this, 'RestApi', {
      description: `Model router (${stage.name})`,
      // Regional: an edge-optimised API cuts a stream that is silent for 30 s, this one after 5 min.
      endpointTypes: [EndpointType.REGIONAL],
      deployOptions: { stageName: stage.name },
      cloudWatchRole: false,
    });
    // The construct's own output; the stack has a better name for it.
    this.restApi.node.tryRemoveChild('Endpoint');
    this.restApi.root.addMethod('ANY', integration);
    this.restApi.root.addResource('{proxy+}').addMethod('ANY', integration);
    addGatewayResponses(this.restApi);
    acknowledgeRestApi(this.restApi);
  }
}

const acknowledgeRestApi = (restApi: RestApi): void =>
  acknowledge(restApi, {
    'AwsSolutions-APIG1':
      'The router logs every request; access logs here need a role for the whole account.',
    'AwsSolutions-APIG2': 'The router validates requests, so that both front doors answer alike.',
    'AwsSolutions-APIG3': 'A firewall is a monthly charge; the operator may attach one.',
    'AwsSolutions-APIG4': 'The router checks API keys, so that both front doors answer alike.',
    'AwsSolutions-APIG6': 'The router logs every request; execution logs would hold prompts.',
    'AwsSolutions-COG4': 'Callers are programs with API keys, not users of a user pool.',
  });
