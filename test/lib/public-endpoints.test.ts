import { Match } from 'aws-cdk-lib/assertions';
import { describe, expect, test } from 'vitest';
import { synthTemplate } from './synth.ts';

const CERTIFICATE = 'arn:aws:acm:eu-west-1:123456789012:certificate/one';

const plain = synthTemplate();
const walled = synthTemplate({ firewallRate: '2000' });
const named = synthTemplate({ domainName: 'router.example.com', certificateArn: CERTIFICATE });

describe('the REST API', () => {
  test('has the name of its stack, which tells its metrics from those of other APIs', () => {
    plain.hasResourceProperties('AWS::ApiGateway::RestApi', { Name: 'Router' });
    const [dashboard] = Object.values(plain.findResources('AWS::CloudWatch::Dashboard'));
    expect(JSON.stringify(dashboard)).toContain(String.raw`\"ApiName\",\"Router\"`);
  });

  test('has a rate of its own instead of the whole account', () => {
    plain.hasResourceProperties('AWS::ApiGateway::Stage', {
      MethodSettings: [
        Match.objectLike({
          HttpMethod: '*',
          ThrottlingRateLimit: 1000,
          ThrottlingBurstLimit: 2000,
        }),
      ],
    });
  });
});

describe('the firewall', () => {
  test('is off, and costs nothing, unless the stage asks for it', () => {
    plain.resourceCountIs('AWS::WAFv2::WebACL', 0);
    plain.resourceCountIs('AWS::Lambda::Url', 1);
  });

  test('refuses an address above its rate and lets everything else pass', () => {
    walled.hasResourceProperties('AWS::WAFv2::WebACL', {
      Scope: 'REGIONAL',
      DefaultAction: { Allow: {} },
      Rules: [
        Match.objectLike({
          Action: { Block: {} },
          Statement: { RateBasedStatement: { Limit: 2000, AggregateKeyType: 'IP' } },
        }),
      ],
    });
  });

  test('keeps no samples: they would hold keys', () => {
    const [acl] = Object.values(walled.findResources('AWS::WAFv2::WebACL'));
    const samples = JSON.stringify(acl).match(/"SampledRequestsEnabled":(true|false)/g);
    expect(new Set(samples)).toEqual(new Set(['"SampledRequestsEnabled":false']));
  });

  test('stands in front of the stage that callers use', () => {
    const [stage] = Object.keys(walled.findResources('AWS::ApiGateway::Stage'));
    walled.hasResourceProperties('AWS::WAFv2::WebACLAssociation', {
      ResourceArn: { 'Fn::Join': ['', Match.arrayWith([{ Ref: stage }])] },
    });
  });

  test('leaves no way around it: the Function URL and its open permissions are gone', () => {
    walled.resourceCountIs('AWS::Lambda::Url', 0);
    expect(
      walled.findResources('AWS::Lambda::Permission', { Properties: { Principal: '*' } }),
    ).toEqual({});
    expect(walled.findOutputs('FunctionUrl')).toEqual({});
  });

  test('answers in our envelope, as a rate limit with a time to wait', () => {
    walled.hasResourceProperties('AWS::ApiGateway::GatewayResponse', {
      ResponseType: 'WAF_FILTERED',
      StatusCode: '429',
      ResponseParameters: Match.objectLike({ 'gatewayresponse.header.retry-after': "'60'" }),
      ResponseTemplates: {
        'application/json': Match.stringLikeRegexp('"type":"rate_limit_error"'),
      },
    });
  });
});

describe('the custom domain', () => {
  test('is off unless the stage names one', () => {
    plain.resourceCountIs('AWS::ApiGateway::DomainName', 0);
    plain.resourceCountIs('AWS::ApiGateway::BasePathMapping', 0);
  });

  test('is regional, takes TLS 1.2 at least, and uses the given certificate', () => {
    named.hasResourceProperties('AWS::ApiGateway::DomainName', {
      DomainName: 'router.example.com',
      EndpointConfiguration: { Types: ['REGIONAL'] },
      RegionalCertificateArn: CERTIFICATE,
      SecurityPolicy: 'TLS_1_2',
    });
  });

  test('leads to the stage without its name in the path', () => {
    named.hasResourceProperties('AWS::ApiGateway::BasePathMapping', {
      BasePath: Match.absent(),
      Stage: { Ref: Object.keys(named.findResources('AWS::ApiGateway::Stage'))[0] },
    });
  });

  test('tells its address and what the DNS record points to', () => {
    const [id] = Object.keys(named.findResources('AWS::ApiGateway::DomainName'));
    named.hasOutput('CustomUrl', {
      Value: { 'Fn::Join': ['', ['https://', { Ref: id }]] },
    });
    named.hasOutput('CustomDomainTarget', {
      Value: { 'Fn::GetAtt': [id, 'RegionalDomainName'] },
    });
  });

  test('needs a name and a certificate', () => {
    expect(() => synthTemplate({ domainName: 'router.example.com' })).toThrow(/go together/);
    expect(() => synthTemplate({ certificateArn: CERTIFICATE })).toThrow(/go together/);
  });
});

describe('the stage', () => {
  test('keeps logs as long as it says, if CloudWatch can', () => {
    const long = synthTemplate({ logRetention: '90' });
    long.allResourcesProperties('AWS::Logs::LogGroup', { RetentionInDays: 90 });
    expect(() => synthTemplate({ logRetention: '8' })).toThrow(/at logRetention/);
  });

  test('names the option that is wrong', () => {
    expect(() => synthTemplate({ firewallRate: '1' })).toThrow(/at firewallRate/);
    expect(() => synthTemplate({ firewallRate: '10', webFunction: 'on' })).toThrow(
      /at webFunction/,
    );
    expect(() => synthTemplate({ alarmEmail: 'nobody' })).toThrow(/at alarmEmail/);
  });
});
