import { Match, Template } from 'aws-cdk-lib/assertions';
import { describe, expect, test } from 'vitest';
import { createApp, createStack, synthTemplate, WEB_FOLDER } from './synth.ts';

const web = Template.fromStack(
  createStack(createApp({ webFunction: 'on' }), {
    webFolder: WEB_FOLDER,
  }),
);

const routerFunction = Object.values(
  web.findResources('AWS::Lambda::Function', { Properties: { Timeout: 900, MemorySize: 256 } }),
)[0];

describe('the Web Function', () => {
  test('there is no Web Function, bucket or copier without webFunction=on', () => {
    const plain = synthTemplate();
    plain.resourceCountIs('AWS::Lambda::WebFunction', 0);
    // The one of large answers; the code of a Web Function would come from another.
    plain.resourceCountIs('AWS::S3::Bucket', 1);
    // The router, admin, and what streams the console's files.
    plain.resourceCountIs('AWS::Lambda::Function', 3);
  });

  test('the Web Function has the environment and role of the router and 64 streams per environment', () => {
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

  test('the name of the Web Function contains the region', () => {
    web.hasResourceProperties('AWS::Lambda::WebFunction', {
      FunctionName: { 'Fn::Join': ['', ['Router-', { Ref: 'AWS::Region' }]] },
    });
  });

  test('every log group of the Web Function has the retention of the stage and is deleted with it', () => {
    web.allResourcesProperties('AWS::Logs::LogGroup', { RetentionInDays: 7 });
    web.allResources('AWS::Logs::LogGroup', { DeletionPolicy: 'Delete' });
  });

  test.each([
    [undefined, {}],
    ['0', { ThrottleConfig: { RateLimit: 0 } }],
    ['10', { ScalingConfig: { MaxEnvironments: 2 } }],
    ['1000', { ScalingConfig: { MaxEnvironments: 16 } }],
  ])(
    'reservedConcurrency %s limits the environments of the Web Function, or its rate at 0',
    (n, limits) => {
      const context = { webFunction: 'on', ...(n !== undefined && { reservedConcurrency: n }) };
      const endpoints = synthTemplate(context, { webFolder: WEB_FOLDER }).findResources(
        'AWS::Lambda::WebFunctionEndpoint',
      );
      const { ThrottleConfig, ScalingConfig } = Object.values(endpoints)[0]?.Properties ?? {};
      expect({
        ...(ThrottleConfig && { ThrottleConfig }),
        ...(ScalingConfig && { ScalingConfig }),
      }).toEqual(limits);
    },
  );

  test('the Web Function leaves authentication to the router and outputs its URL', () => {
    web.hasResourceProperties('AWS::Lambda::WebFunctionEndpoint', {
      AuthType: 'ApplicationManaged',
    });
    web.hasOutput('WebFunctionUrl', { Value: Match.anyValue() });
  });

  test('an alarm fires for 5xx of the Web Function that the router did not send', () => {
    const part = '(FILL(hTTPResponseStatusClass5XX,0)-FILL(status5xx,0))';
    const whole =
      '(FILL(requests,0)+FILL(hTTPResponseStatusClass5XX,0)-FILL(denied,0)-FILL(status5xx,0))';
    web.hasResourceProperties('AWS::CloudWatch::Alarm', {
      AlarmName: 'Router-web-function-errors',
      TreatMissingData: 'ignore',
      Metrics: Match.arrayWith([
        Match.objectLike({
          Expression: `100*${part}/IF((${whole}>=1 AND ${part}>=3) OR 100*${part}<=0.01*${whole},${whole},0)`,
        }),
        Match.objectLike({
          MetricStat: Match.objectLike({
            Metric: {
              Namespace: 'AWS/Lambda/Web',
              MetricName: 'HTTPResponseStatusClass5XX',
              Dimensions: [
                { Name: 'EndpointName', Value: 'prod' },
                {
                  Name: 'FunctionName',
                  Value: { 'Fn::Join': ['', ['Router-', { Ref: 'AWS::Region' }]] },
                },
              ],
            },
          }),
        }),
      ]),
    });
    web.hasResourceProperties('AWS::Lambda::WebFunctionEndpoint', { EndpointName: 'prod' });
  });

  test('the bucket with the code of the Web Function is private and versioned', () => {
    web.hasResourceProperties('AWS::S3::Bucket', {
      PublicAccessBlockConfiguration: { BlockPublicAcls: true, RestrictPublicBuckets: true },
      VersioningConfiguration: { Status: 'Enabled' },
    });
  });
});
