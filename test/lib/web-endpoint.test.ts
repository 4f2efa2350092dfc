import { Match, Template } from 'aws-cdk-lib/assertions';
import { describe, expect, test } from 'vitest';
import { createApp, createStack, synthTemplate, WEB_FOLDER } from './synth.ts';

const web = Template.fromStack(
  createStack(createApp({ webFunction: 'on' }), {
    webFolder: WEB_FOLDER,
  }),
);

const routerFunction = Object.values(
  web.findResources('AWS::Lambda::Function', { Properties: { Timeout: 900, MemorySize: 512 } }),
)[0];

describe('the Web Function', () => {
  test('is off, with its bucket and its copier, unless the stage asks for it', () => {
    const plain = synthTemplate();
    for (const type of ['AWS::Lambda::WebFunction', 'AWS::S3::Bucket']) {
      plain.resourceCountIs(type, 0);
    }
    plain.resourceCountIs('AWS::Lambda::Function', 2);
  });

  test('runs the bundle with the environment and the role of the router, up to 64 streams at once', () => {
    const { Environment, Role } = routerFunction?.Properties ?? {};
    expect(Environment.Variables).toMatchObject({ STAGE: 'dev' });
    web.hasResourceProperties('AWS::Lambda::WebFunctionRevision', Match.objectLike({}));
    const [revision] = Object.values(web.findResources('AWS::Lambda::WebFunctionRevision'));
    const text = JSON.stringify(revision?.Properties);
    expect(text).toContain(JSON.stringify(Role));
    for (const [name, value] of Object.entries(Environment.Variables)) {
      expect(text).toContain(`${JSON.stringify(name)}:${JSON.stringify(value)}`);
    }
    expect(text).toMatch(/"[A-Za-z]*Timeout[A-Za-z]*":900/);
    expect(text).toMatch(/"[A-Za-z]*Concurren[A-Za-z]*":64/);
  });

  test('has a name of its own in each region', () => {
    web.hasResourceProperties('AWS::Lambda::WebFunction', {
      FunctionName: { 'Fn::Join': ['', ['Router-', { Ref: 'AWS::Region' }]] },
    });
  });

  test('leaves no log group that is kept longer than the others, or after the stack', () => {
    web.allResourcesProperties('AWS::Logs::LogGroup', { RetentionInDays: 7 });
    web.allResources('AWS::Logs::LogGroup', { DeletionPolicy: 'Delete' });
  });

  test.each([
    [undefined, {}],
    ['0', { ThrottleConfig: { RateLimit: 0 } }],
    ['10', { ScalingConfig: { MaxEnvironments: 2 } }],
    ['1000', { ScalingConfig: { MaxEnvironments: 16 } }],
  ])('with a reserved concurrency of %s takes no more than that, and nothing at 0', (n, limits) => {
    const context = { webFunction: 'on', ...(n !== undefined && { reservedConcurrency: n }) };
    const endpoints = synthTemplate(context, { webFolder: WEB_FOLDER }).findResources(
      'AWS::Lambda::WebFunctionEndpoint',
    );
    const { ThrottleConfig, ScalingConfig } = Object.values(endpoints)[0]?.Properties ?? {};
    expect({
      ...(ThrottleConfig && { ThrottleConfig }),
      ...(ScalingConfig && { ScalingConfig }),
    }).toEqual(limits);
  });

  test('leaves authentication to the router, and tells its address', () => {
    web.hasResourceProperties('AWS::Lambda::WebFunctionEndpoint', {
      AuthType: 'ApplicationManaged',
    });
    web.hasOutput('WebFunctionUrl', { Value: Match.anyValue() });
  });

  test('keeps its code where only AWS reads it', () => {
    web.hasResourceProperties('AWS::S3::Bucket', {
      PublicAccessBlockConfiguration: { BlockPublicAcls: true, RestrictPublicBuckets: true },
      VersioningConfiguration: { Status: 'Enabled' },
    });
  });
});
