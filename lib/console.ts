import { Duration, Fn, Stack } from 'aws-cdk-lib';
import * as apigateway from 'aws-cdk-lib/aws-apigateway';
import * as cognito from 'aws-cdk-lib/aws-cognito';
import type { Code, IFunction } from 'aws-cdk-lib/aws-lambda';
import { Construct } from 'constructs';
import { acknowledge } from './acknowledge.ts';
import { acknowledgePublic, addConsoleFiles } from './console-files.ts';
import { removalOf } from './function-parts.ts';
import type { Stage } from './stage.ts';

export type ConsoleProps = {
  stage: Stage;
  restApi: apigateway.RestApi;
  /** The bundled stream of the files (lambdas/console-files.ts). */
  code: Code;
};

/** Roles that exist in every stage; `project:ID`, or another that is missing, is created with its first member. */
const GROUPS = ['operator', 'viewer'];

/** An ID token is valid without a look at the pool: this long, a removed user still may call. */
const TOKEN_LIFETIME = Duration.minutes(15);
/** After it the user signs in again. */
const SIGN_IN_LIFETIME = Duration.hours(12);

/**
 * The console on the REST API: its page and files are public, its calls need a user of the pool. Functions
 * serve all of it from their bundles, so that it costs nothing while it is idle.
 */
export class Console extends Construct {
  readonly userPool: cognito.IUserPool;
  readonly client: cognito.UserPoolClient;
  /** Address of the page. */
  readonly url: string;
  /** Host of the managed login. */
  readonly domainName: string;
  private readonly parts: Pick<ConsoleProps, 'stage' | 'code'>;

  constructor(scope: Construct, id: string, { stage, restApi, code }: ConsoleProps) {
    super(scope, id);
    const { existingUserPool } = stage;
    this.parts = { stage, code };
    this.userPool =
      existingUserPool === undefined
        ? this.createUserPool(stage)
        : cognito.UserPool.fromUserPoolId(this, 'Users', existingUserPool);
    this.domainName = domainNameOf(this.createDomain(stage));
    const { own, custom } = addressesOf(stage, restApi);
    this.url = custom ?? own;
    this.client = this.createClient(custom === undefined ? [own] : [own, custom]);
  }

  private createUserPool(stage: Stage): cognito.UserPool {
    const { name, protectData } = stage;
    const userPool = new cognito.UserPool(this, 'Users', {
      // The free tier of this plan has 10,000 monthly users; the managed login needs it.
      featurePlan: cognito.FeaturePlan.ESSENTIALS,
      selfSignUpEnabled: false,
      signInAliases: { email: true },
      signInCaseSensitive: false,
      // An address names a member: a new one counts once a message to it was answered.
      keepOriginal: { email: true },
      accountRecovery: cognito.AccountRecovery.EMAIL_ONLY,
      mfa: cognito.Mfa.OPTIONAL,
      mfaSecondFactor: { sms: false, otp: true },
      passwordPolicy: {
        minLength: 12,
        requireDigits: true,
        requireLowercase: true,
        requireUppercase: true,
        requireSymbols: true,
        tempPasswordValidity: Duration.days(3),
      },
      userInvitation: {
        emailSubject: `Model router (${name}): your access to the console`,
        emailBody:
          'Sign in to the console of the model router as {username} with the temporary password {####}. It is valid for 3 days.',
      },
      deletionProtection: protectData,
      removalPolicy: removalOf(stage),
    });
    for (const groupName of GROUPS) {
      // A group that is deleted takes its members' roles with it.
      userPool.addGroup(groupName, { groupName }).applyRemovalPolicy(removalOf(stage));
    }
    acknowledge(userPool, {
      'AwsSolutions-COG2':
        'Operators choose it; companies federate the pool with their identity provider, which has its own.',
      'AwsSolutions-COG3': 'Threat protection needs a plan with a price per user.',
      'AwsSolutions-COG8': 'Its features, such as threat protection, have a price per user.',
    });
    return userPool;
  }

  private createDomain({ name }: Stage): cognito.UserPoolDomain {
    return this.userPool.addDomain('Domain', {
      // Unique in the region, across accounts.
      cognitoDomain: { domainPrefix: Fn.join('-', ['model-router', name, Stack.of(this).account]) },
      managedLoginVersion: cognito.ManagedLoginVersion.NEWER_MANAGED_LOGIN,
    });
  }

  /**
   * A public client: the page holds no secret and proves itself with PKCE. Its tokens may not change the address
   * that names their user; without a list of attributes they may write all.
   */
  private createClient(addresses: string[]): cognito.UserPoolClient {
    const client = this.userPool.addClient('Page', {
      generateSecret: false,
      supportedIdentityProviders: [cognito.UserPoolClientIdentityProvider.COGNITO],
      // The managed login's, without custom authentication, which is a default.
      authFlows: { userSrp: true },
      writeAttributes: new cognito.ClientAttributes().withStandardAttributes({ locale: true }),
      oAuth: {
        flows: { authorizationCodeGrant: true },
        scopes: [cognito.OAuthScope.OPENID, cognito.OAuthScope.EMAIL],
        callbackUrls: addresses,
        logoutUrls: addresses,
      },
      preventUserExistenceErrors: true,
      enableTokenRevocation: true,
      idTokenValidity: TOKEN_LIFETIME,
      accessTokenValidity: TOKEN_LIFETIME,
      refreshTokenValidity: SIGN_IN_LIFETIME,
    });
    // Without a style the managed login has no page.
    new cognito.CfnManagedLoginBranding(this, 'LoginStyle', {
      userPoolId: this.userPool.userPoolId,
      clientId: client.userPoolClientId,
      useCognitoProvidedValues: true,
    });
    return client;
  }

  /**
   * Routes the page, its files, the document of the API and the page's calls to the admin function, and the files a second time
   * to one that streams them. The page of older code, after a rollback of it alone, addresses the first.
   */
  addRoutes(restApi: apigateway.RestApi, admin: IFunction): void {
    const integration = new apigateway.LambdaIntegration(admin, { allowTestInvoke: false });
    const page = restApi.root.addResource('dashboard');
    const file = page.addResource('{file}');
    for (const resource of [page, file, restApi.root.addResource('openapi.json')]) {
      acknowledgePublic(resource.addMethod('GET', integration));
    }
    addConsoleFiles(this, {
      ...{ ...this.parts, page },
      SIGN_IN_DOMAIN: this.domainName,
      SIGN_IN_CLIENT: this.client.userPoolClientId,
    });
    page.addResource('api').addResource('{proxy+}').addMethod('ANY', integration, {
      authorizationType: apigateway.AuthorizationType.COGNITO,
      authorizer: this.createAuthorizer(),
    });
  }

  /** Accepts ID tokens that the pool issued to the page: other clients of the pool have other purposes. */
  private createAuthorizer(): apigateway.CognitoUserPoolsAuthorizer {
    const authorizer = new apigateway.CognitoUserPoolsAuthorizer(this, 'Authorizer', {
      cognitoUserPools: [this.userPool],
    });
    const resource = authorizer.node.defaultChild as apigateway.CfnAuthorizer;
    // Matched against `aud`; without it, tokens for every client of the pool are accepted.
    resource.identityValidationExpression = this.client.userPoolClientId;
    return authorizer;
  }
}

const domainNameOf = (domain: cognito.UserPoolDomain): string =>
  `${domain.domainName}.auth.${Stack.of(domain).region}.amazoncognito.com`;

/**
 * Addresses of the page. They name the API and the stage, not the deployment, which depends on the admin
 * function, whose environment names the client.
 */
const addressesOf = ({ name, domain }: Stage, restApi: apigateway.RestApi) => {
  const { region, urlSuffix } = Stack.of(restApi);
  const own = `https://${restApi.restApiId}.execute-api.${region}.${urlSuffix}/${name}/dashboard`;
  return { own, custom: domain && `https://${domain.name}/dashboard` };
};
