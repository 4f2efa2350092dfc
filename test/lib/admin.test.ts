import { Match } from 'aws-cdk-lib/assertions';
import { describe, expect, test } from 'vitest';
import * as z from 'zod';
import { adminEnv } from '../../lambdas/env.ts';
import { synthTemplate } from './synth.ts';

const dev = synthTemplate();

type Props = Record<string, unknown>;

/** Properties of the resources of a type whose id begins with `name`, by id. */
const named = (type: string, name: string): [id: string, properties: Props][] =>
  Object.entries(dev.findResources(type))
    .filter(([id]) => id.startsWith(name))
    .map(([id, resource]) => [id, (resource.Properties ?? {}) as Props]);

const one = (type: string, name: string): { id: string; properties: Props } => {
  const found = named(type, name);
  expect(found).toHaveLength(1);
  const [id, properties] = found[0] ?? ['', {}];
  return { id, properties };
};

const FUNCTION = one('AWS::Lambda::Function', 'Admin');
const ADMIN_ARN = { 'Fn::GetAtt': [FUNCTION.id, 'Arn'] };

describe('the admin function', () => {
  const tableArn = (name: string) => ({
    'Fn::GetAtt': [one('AWS::DynamoDB::GlobalTable', `Tables${name}`).id, 'Arn'],
  });

  test('the role of the admin function allows exactly these actions on exactly these resources', () => {
    expect(one('AWS::IAM::Policy', 'Admin').properties.PolicyDocument).toEqual({
      Version: '2012-10-17',
      Statement: [
        {
          Effect: 'Allow',
          Action: ['logs:CreateLogStream', 'logs:PutLogEvents'],
          Resource: { 'Fn::GetAtt': [one('AWS::Logs::LogGroup', 'Admin').id, 'Arn'] },
        },
        {
          Effect: 'Allow',
          Action: ['dynamodb:GetItem', 'dynamodb:Scan', 'dynamodb:UpdateItem'],
          Resource: [tableArn('Plans'), tableArn('Projects')],
        },
        {
          Effect: 'Allow',
          Action: ['dynamodb:GetItem', 'dynamodb:UpdateItem'],
          Resource: [tableArn('Keys'), tableArn('Meters')],
        },
        {
          Effect: 'Allow',
          Action: ['dynamodb:GetItem', 'dynamodb:Query'],
          Resource: tableArn('Records'),
        },
        {
          Effect: 'Allow',
          Action: ['dynamodb:GetItem', 'dynamodb:Query', 'dynamodb:UpdateItem'],
          Resource: tableArn('History'),
        },
        {
          Effect: 'Allow',
          Action: 'dynamodb:Query',
          Resource: { 'Fn::Join': ['', [tableArn('Keys'), '/index/byProject']] },
        },
        {
          Effect: 'Allow',
          Action: 'secretsmanager:GetSecretValue',
          Resource: { Ref: one('AWS::SecretsManager::Secret', 'UpstreamSecrets').id },
        },
        {
          Effect: 'Allow',
          Action: [
            'cognito-idp:AdminAddUserToGroup',
            'cognito-idp:AdminCreateUser',
            'cognito-idp:AdminDeleteUser',
            'cognito-idp:AdminGetUser',
            'cognito-idp:AdminListGroupsForUser',
            'cognito-idp:AdminRemoveUserFromGroup',
            'cognito-idp:CreateGroup',
            'cognito-idp:ListUsers',
            'cognito-idp:ListUsersInGroup',
          ],
          Resource: { 'Fn::GetAtt': [one('AWS::Cognito::UserPool', 'Console').id, 'Arn'] },
        },
      ],
    });
    const role = one('AWS::IAM::Role', 'Admin').properties;
    expect(role).not.toHaveProperty('ManagedPolicyArns');
    expect(role).not.toHaveProperty('Policies');
  });

  test('the admin function gets exactly the environment variables that it reads', () => {
    const { Variables } = FUNCTION.properties.Environment as { Variables: Props };
    expect(Object.keys(Variables).sort()).toEqual(Object.keys(adminEnv().shape).sort());
  });
});

test.each([
  [undefined, 'cron(25 * * * ? *)'],
  [30, 'cron(25/30 * * * ? *)'],
  [5, 'cron(0/5 * * * ? *)'],
])('the history runs with historyMinutes=%s at %s', (historyMinutes, expression) => {
  synthTemplate(historyMinutes ? { historyMinutes } : {}).hasResourceProperties(
    'AWS::Events::Rule',
    {
      ScheduleExpression: expression,
    },
  );
});

test('the history runs every hour, and only its schedule and the REST API may invoke the admin function', () => {
  const { id, properties } = one('AWS::Events::Rule', 'Admin');
  expect(properties).toMatchObject({
    ScheduleExpression: 'cron(25 * * * ? *)',
    State: 'ENABLED',
    Targets: [
      { Arn: ADMIN_ARN, Input: '{"job":"history"}', RetryPolicy: { MaximumRetryAttempts: 2 } },
    ],
  });
  const permissions = Object.values(dev.findResources('AWS::Lambda::Permission'));
  const ofRule = permissions.filter(({ Properties }) =>
    JSON.stringify(Properties.SourceArn ?? '').includes(id),
  );
  expect(ofRule).toHaveLength(1);
  expect(ofRule[0]?.Properties).toMatchObject({ Principal: 'events.amazonaws.com' });
});

describe('routes to the admin function', () => {
  const integrations = Object.values(dev.findResources('AWS::ApiGateway::Method')).map(
    ({ Properties }) => Properties as Props,
  );
  const toAdmin = integrations.filter(({ Integration }) =>
    JSON.stringify(Integration).includes(FUNCTION.id),
  );
  // test/lib/console.test.ts has the paths of the console.
  const ofOperators = toAdmin.filter(({ AuthorizationType }) => AuthorizationType === 'AWS_IAM');

  test('the admin path requires IAM authorization', () => {
    expect(ofOperators).toEqual([
      expect.objectContaining({ HttpMethod: 'ANY', AuthorizationType: 'AWS_IAM' }),
    ]);
  });

  test('the route of operators is /admin/{proxy+} of the REST API, without response streaming', () => {
    const resources = dev.findResources('AWS::ApiGateway::Resource');
    const resourceOf = (reference: unknown): Props => {
      const { Ref: id } = z.object({ Ref: z.string() }).parse(reference);
      return (resources[id]?.Properties ?? {}) as Props;
    };
    const proxy = resourceOf(ofOperators[0]?.ResourceId);
    const admin = resourceOf(proxy.ParentId);
    expect([admin.PathPart, proxy.PathPart]).toEqual(['admin', '{proxy+}']);
    expect(admin.ParentId).toEqual({ 'Fn::GetAtt': [expect.any(String), 'RootResourceId'] });
    expect(ofOperators[0]?.Integration).not.toHaveProperty('ResponseTransferMode');
  });

  test('only its routes and the schedule may invoke the admin function, which has no Function URL', () => {
    const permissions = Object.values(
      dev.findResources('AWS::Lambda::Permission', { Properties: { FunctionName: ADMIN_ARN } }),
    );
    // One for the operators' path, four for the console and the document of the API, one for the schedule.
    expect(permissions).toHaveLength(6);
    dev.hasResourceProperties('AWS::Lambda::Permission', {
      FunctionName: ADMIN_ARN,
      Principal: 'apigateway.amazonaws.com',
      SourceArn: { 'Fn::Join': ['', Match.arrayWith([Match.stringLikeRegexp('/\\*/admin/\\*$')])] },
    });
    dev.resourcePropertiesCountIs('AWS::Lambda::Url', { TargetFunctionArn: ADMIN_ARN }, 0);
  });
});
