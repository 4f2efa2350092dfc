import { AuthorizationType, LambdaIntegration, type RestApi } from 'aws-cdk-lib/aws-apigateway';
import type { IFunction } from 'aws-cdk-lib/aws-lambda';

/**
 * The operator's paths of the REST API. Every method asks IAM: callers sign with AWS credentials that may
 * `execute-api:Invoke` it, so there is no second kind of password to hand out, rotate or lose.
 */
export const addAdminRoutes = (restApi: RestApi, admin: IFunction): void => {
  const integration = new LambdaIntegration(admin, { allowTestInvoke: false });
  restApi.root
    .addResource('admin')
    .addResource('{proxy+}')
    .addMethod('ANY', integration, { authorizationType: AuthorizationType.IAM });
};
