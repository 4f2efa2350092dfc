import { Match } from 'aws-cdk-lib/assertions';
import { describe, expect, test } from 'vitest';
import { Resources } from '../support/deployment/resources.ts';
import { methodsIn } from '../support/deployment/rest-api.ts';
import { EVERY_OPTION, synthTemplate } from './synth.ts';

const dev = synthTemplate();
const prod = synthTemplate(EVERY_OPTION);
const off = synthTemplate({ dashboard: 'off' });

const idOf = (type: string): string => Object.keys(dev.findResources(type))[0] ?? '';

const methods = methodsIn(Resources.parse(dev.toJSON().Resources));

describe('the console on AWS', () => {
  test('the page and its files are public, its calls need a user of the pool, and all but the streamed files reach the admin function', () => {
    const authorizer = { Ref: idOf('AWS::ApiGateway::Authorizer') };
    const ofConsole = methods
      .filter(({ path }) => path.startsWith('/dashboard'))
      .toSorted((one, other) => (one.path < other.path ? -1 : 1));
    expect(ofConsole).toMatchObject([
      { httpMethod: 'GET', path: '/dashboard', authorization: 'NONE' },
      {
        httpMethod: 'ANY',
        path: '/dashboard/api/{proxy+}',
        authorization: 'COGNITO_USER_POOLS',
        authorizer,
      },
      { httpMethod: 'GET', path: '/dashboard/files/{file}', authorization: 'NONE' },
      { httpMethod: 'GET', path: '/dashboard/{file}', authorization: 'NONE' },
    ]);
    const isStreamed = ({ integration }: { integration: string }) =>
      integration.includes('"ResponseTransferMode":"STREAM"') &&
      integration.includes('/response-streaming-invocations');
    expect(ofConsole.filter(isStreamed).map(({ path }) => path)).toEqual([
      '/dashboard/files/{file}',
    ]);
    for (const method of ofConsole) {
      const name = isStreamed(method) ? 'ConsoleFilesFunction' : 'AdminFunction';
      expect(method.integration).toContain(name);
    }
  });

  test("the authorizer checks that the ID token in the authorization header is the pool's, for the page", () => {
    dev.hasResourceProperties('AWS::ApiGateway::Authorizer', {
      Type: 'COGNITO_USER_POOLS',
      IdentitySource: 'method.request.header.Authorization',
      IdentityValidationExpression: { Ref: idOf('AWS::Cognito::UserPoolClient') },
      ProviderARNs: [{ 'Fn::GetAtt': [idOf('AWS::Cognito::UserPool'), 'Arn'] }],
    });
  });

  test('only operators create users, whose passwords have 12 characters and whose second factor is an app', () => {
    dev.hasResourceProperties('AWS::Cognito::UserPool', {
      AdminCreateUserConfig: Match.objectLike({ AllowAdminCreateUserOnly: true }),
      EnabledMfas: ['SOFTWARE_TOKEN_MFA'],
      MfaConfiguration: 'OPTIONAL',
      Policies: { PasswordPolicy: Match.objectLike({ MinimumLength: 12 }) },
    });
  });

  test('the page signs in by code alone, without a secret, and revoked tokens end', () => {
    dev.hasResourceProperties('AWS::Cognito::UserPoolClient', {
      GenerateSecret: false,
      AllowedOAuthFlows: ['code'],
      AllowedOAuthScopes: ['openid', 'email'],
      SupportedIdentityProviders: ['COGNITO'],
      EnableTokenRevocation: true,
      PreventUserExistenceErrors: 'ENABLED',
    });
  });

  test('no token of the page changes the address that names its user, by any flow', () => {
    dev.hasResourceProperties('AWS::Cognito::UserPoolClient', {
      ExplicitAuthFlows: ['ALLOW_USER_SRP_AUTH', 'ALLOW_REFRESH_TOKEN_AUTH'],
      WriteAttributes: ['locale'],
    });
    dev.hasResourceProperties('AWS::Cognito::UserPool', {
      UserAttributeUpdateSettings: { AttributesRequireVerificationBeforeUpdate: ['email'] },
    });
  });

  test('ID and access tokens end after 15 minutes, and are renewed for 12 hours', () => {
    dev.hasResourceProperties('AWS::Cognito::UserPoolClient', {
      IdTokenValidity: 15,
      AccessTokenValidity: 15,
      RefreshTokenValidity: 12 * 60,
      TokenValidityUnits: { IdToken: 'minutes', AccessToken: 'minutes', RefreshToken: 'minutes' },
    });
  });

  test('the console has no preflight and no header for other origins, with corsOrigins too', () => {
    const ofConsole = methodsIn(Resources.parse(prod.toJSON().Resources)).filter(({ path }) =>
      path.startsWith('/dashboard'),
    );
    expect(ofConsole.map(({ httpMethod }) => httpMethod)).not.toContain('OPTIONS');
    expect(JSON.stringify(ofConsole)).not.toMatch(/access-control|MOCK/i);
  });

  test('the REST API may call the admin function for the paths of the console and of /admin only', () => {
    const paths = Object.entries(dev.findResources('AWS::Lambda::Permission'))
      .filter(([, { Properties }]) => JSON.stringify(Properties).includes('AdminFunction'))
      .map(([, { Properties }]) => JSON.stringify(Properties.SourceArn))
      .flatMap((arn) => /"(\/[^"]*)"\]\]/.exec(arn)?.[1] ?? []);
    expect(paths.toSorted()).toEqual([
      '/*/admin/*',
      '/*/dashboard/api/*',
      '/GET/dashboard',
      '/GET/dashboard/*',
      '/GET/openapi.json',
    ]);
  });

  test('the REST API neither compresses nor converts: its streams and other responses stay as they were', () => {
    for (const { Properties } of Object.values(dev.findResources('AWS::ApiGateway::RestApi'))) {
      expect(Properties).not.toHaveProperty('MinimumCompressionSize');
      expect(Properties).not.toHaveProperty('BinaryMediaTypes');
    }
  });

  test('the function that streams the files may write its log, and nothing else', () => {
    const policies = Object.values(dev.findResources('AWS::IAM::Policy')).filter(({ Properties }) =>
      JSON.stringify(Properties.Roles).includes('ConsoleFilesRole'),
    );
    expect(policies.flatMap(({ Properties }) => Properties.PolicyDocument.Statement)).toEqual([
      {
        Action: ['logs:CreateLogStream', 'logs:PutLogEvents'],
        Effect: 'Allow',
        Resource: { 'Fn::GetAtt': [expect.stringMatching(/^ConsoleFilesLogs/), 'Arn'] },
      },
    ]);
  });

  test('the sign-in returns to the page at the REST API, and at the custom domain if there is one', () => {
    const addresses = (template: typeof dev): string[] =>
      Object.values(template.findResources('AWS::Cognito::UserPoolClient')).flatMap(
        ({ Properties }) => Properties.CallbackURLs.map((url: unknown) => JSON.stringify(url)),
      );
    expect(addresses(dev)).toEqual([
      expect.stringMatching(/"Ref":"FrontDoorsRestApi\w+".*execute-api.*\/dev\/dashboard"/),
    ]);
    expect(addresses(prod)).toEqual([
      expect.stringContaining('/prod/dashboard'),
      '"https://router.example.com/dashboard"',
    ]);
  });

  test('users are kept with the data of a prod stage, and deleted with a dev stage', () => {
    dev.hasResource('AWS::Cognito::UserPool', { DeletionPolicy: 'Delete' });
    prod.hasResource('AWS::Cognito::UserPool', {
      DeletionPolicy: 'RetainExceptOnCreate',
      Properties: { DeletionProtection: 'ACTIVE' },
    });
  });

  test('the snippets of the console show the Function URL, or the custom domain', () => {
    const callerUrl = (template: typeof dev): string => {
      const [admin] = Object.entries(template.findResources('AWS::Lambda::Function')).filter(
        ([id]) => id.startsWith('Admin'),
      );
      return JSON.stringify(admin?.[1].Properties.Environment.Variables.CALLER_URL);
    };
    expect(callerUrl(dev)).toContain('FunctionUrl');
    expect(callerUrl(prod)).toContain('CustomDomain');
    expect(callerUrl(synthTemplate({ functionUrl: 'off' }))).toBeUndefined();
  });

  test('dashboard=off leaves out the pool, the paths and the variables', () => {
    const text = JSON.stringify(off.toJSON());
    expect(text).not.toMatch(/AWS::Cognito|"PathPart":"dashboard"|CONSOLE_FILES|SIGN_IN/);
  });
});
