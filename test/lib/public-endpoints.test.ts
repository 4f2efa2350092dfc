import { Match } from 'aws-cdk-lib/assertions';
import { describe, expect, test } from 'vitest';
import { synthTemplate } from './synth.ts';

const CERTIFICATE = 'arn:aws:acm:eu-west-1:123456789012:certificate/one';

const plain = synthTemplate();
const withFirewall = synthTemplate({ firewallRate: '2000' });
const withDomain = synthTemplate({ domainName: 'router.example.com', certificateArn: CERTIFICATE });

describe('the REST API', () => {
  test('the REST API is named like its stack, so that its metrics differ from those of other APIs', () => {
    plain.hasResourceProperties('AWS::ApiGateway::RestApi', { Name: 'Router' });
    const [dashboard] = Object.values(plain.findResources('AWS::CloudWatch::Dashboard'));
    expect(JSON.stringify(dashboard)).toContain(String.raw`\"ApiName\",\"Router\"`);
  });

  test('the REST API is limited to 1,000 requests per second and bursts of 2,000', () => {
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
  test('there is no firewall without firewallRate', () => {
    plain.resourceCountIs('AWS::WAFv2::WebACL', 0);
    plain.resourceCountIs('AWS::Lambda::Url', 1);
  });

  test('the firewall blocks an IP address above the rate and allows everything else', () => {
    withFirewall.hasResourceProperties('AWS::WAFv2::WebACL', {
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

  test('the firewall stores no request samples, which would contain API keys', () => {
    const [acl] = Object.values(withFirewall.findResources('AWS::WAFv2::WebACL'));
    const samples = JSON.stringify(acl).match(/"SampledRequestsEnabled":(true|false)/g);
    expect(new Set(samples)).toEqual(new Set(['"SampledRequestsEnabled":false']));
  });

  test('the firewall is associated with the deployed stage of the REST API', () => {
    const [stage] = Object.keys(withFirewall.findResources('AWS::ApiGateway::Stage'));
    withFirewall.hasResourceProperties('AWS::WAFv2::WebACLAssociation', {
      ResourceArn: { 'Fn::Join': ['', Match.arrayWith([{ Ref: stage }])] },
    });
  });

  test('a stage with a firewall has no Function URL and no public permission', () => {
    withFirewall.resourceCountIs('AWS::Lambda::Url', 0);
    expect(
      withFirewall.findResources('AWS::Lambda::Permission', { Properties: { Principal: '*' } }),
    ).toEqual({});
    expect(withFirewall.findOutputs('FunctionUrl')).toEqual({});
  });

  test('a request blocked by the firewall gets 429 with retry-after: 60 in our envelope', () => {
    withFirewall.hasResourceProperties('AWS::ApiGateway::GatewayResponse', {
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
  test('there is no custom domain without domainName', () => {
    plain.resourceCountIs('AWS::ApiGateway::DomainName', 0);
    plain.resourceCountIs('AWS::ApiGateway::BasePathMapping', 0);
  });

  test('the custom domain is regional, requires TLS 1.2 and uses the given certificate', () => {
    withDomain.hasResourceProperties('AWS::ApiGateway::DomainName', {
      DomainName: 'router.example.com',
      EndpointConfiguration: { Types: ['REGIONAL'] },
      RegionalCertificateArn: CERTIFICATE,
      SecurityPolicy: 'TLS_1_2',
    });
  });

  test('the custom domain maps to the stage without the stage name in the path', () => {
    withDomain.hasResourceProperties('AWS::ApiGateway::BasePathMapping', {
      BasePath: Match.absent(),
      Stage: { Ref: Object.keys(withDomain.findResources('AWS::ApiGateway::Stage'))[0] },
    });
  });

  test('the stack outputs the custom URL and the target of its DNS record', () => {
    const [id] = Object.keys(withDomain.findResources('AWS::ApiGateway::DomainName'));
    withDomain.hasOutput('CustomUrl', {
      Value: { 'Fn::Join': ['', ['https://', { Ref: id }]] },
    });
    withDomain.hasOutput('CustomDomainTarget', {
      Value: { 'Fn::GetAtt': [id, 'RegionalDomainName'] },
    });
  });

  test('domainName without certificateArn is rejected, and the reverse', () => {
    expect(() => synthTemplate({ domainName: 'router.example.com' })).toThrow(
      /must be set together/,
    );
    expect(() => synthTemplate({ certificateArn: CERTIFICATE })).toThrow(/must be set together/);
  });
});

describe('the stage', () => {
  test('logRetention sets the retention of every log group and rejects 8 days', () => {
    const long = synthTemplate({ logRetention: '90' });
    long.allResourcesProperties('AWS::Logs::LogGroup', { RetentionInDays: 90 });
    expect(() => synthTemplate({ logRetention: '8' })).toThrow(/at logRetention/);
  });

  test('an invalid stage option is reported by its name', () => {
    expect(() => synthTemplate({ firewallRate: '1' })).toThrow(/at firewallRate/);
    expect(() => synthTemplate({ firewallRate: '10', webFunction: 'on' })).toThrow(
      /at webFunction/,
    );
    expect(() => synthTemplate({ alarmEmail: 'no-address' })).toThrow(/at alarmEmail/);
  });
});
