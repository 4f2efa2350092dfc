import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import { describe, expect, test } from 'vitest';
import { type AwsServiceName, readEndpoint } from '../../../lambdas/aws/endpoint.ts';

/** One or more of every partition that AWS has. */
const REGIONS = [
  'us-east-1',
  'eu-central-2',
  'ap-southeast-7',
  'mx-central-1',
  'il-central-1',
  'cn-north-1',
  'cn-northwest-1',
  'us-gov-east-1',
  'us-gov-west-1',
  'eusc-de-east-1',
  'us-iso-east-1',
  'us-isob-east-1',
  'us-isof-south-1',
  'eu-isoe-west-1',
];

/** Services in China have no FIPS addresses. */
const hasFips = (region: string): boolean => !region.startsWith('cn-');

/** The address that AWS's SDK resolves; the client is never called. */
const addressBySdk = (
  service: Exclude<AwsServiceName, 's3'>,
  region: string,
  flags: { useFipsEndpoint: boolean; useDualstackEndpoint: boolean },
): string => {
  const parameters = {
    Region: region,
    UseFIPS: flags.useFipsEndpoint,
    UseDualStack: flags.useDualstackEndpoint,
  };
  const { url } =
    service === 'dynamodb'
      ? new DynamoDBClient({ region }).config.endpointProvider(parameters)
      : new SecretsManagerClient({ region }).config.endpointProvider(parameters);
  return url.href.replace(/\/$/, '');
};

describe('the address of an AWS service', () => {
  test.each(
    (['dynamodb', 'secretsmanager'] as const).flatMap((service) =>
      [false, true].flatMap((fips) => [false, true].map((dual) => ({ service, fips, dual }))),
    ),
  )(
    "the address of $service in every partition is that of AWS's SDK (FIPS: $fips, dual stack: $dual)",
    ({ service, fips, dual }) => {
      for (const region of fips ? REGIONS.filter(hasFips) : REGIONS) {
        const { endpoint } = readEndpoint(service, {
          AWS_REGION: region,
          AWS_USE_FIPS_ENDPOINT: String(fips),
          AWS_USE_DUALSTACK_ENDPOINT: String(dual),
        });
        const flags = { useFipsEndpoint: fips, useDualstackEndpoint: dual };
        expect(endpoint).toBe(addressBySdk(service, region, flags));
      }
    },
  );

  // Resolved once with AWS's SDK for S3 (3.1162.0), which nothing else here needs.
  test.each([
    ['us-east-1', false, false, 'https://s3.us-east-1.amazonaws.com'],
    ['eu-central-2', false, true, 'https://s3.dualstack.eu-central-2.amazonaws.com'],
    ['eu-central-2', true, false, 'https://s3-fips.eu-central-2.amazonaws.com'],
    ['us-gov-west-1', false, false, 'https://s3.us-gov-west-1.amazonaws.com'],
    ['us-gov-west-1', true, true, 'https://s3-fips.dualstack.us-gov-west-1.amazonaws.com'],
    ['cn-north-1', false, true, 'https://s3.dualstack.cn-north-1.amazonaws.com.cn'],
    ['eusc-de-east-1', false, true, 'https://s3.dualstack.eusc-de-east-1.amazonaws.eu'],
    ['us-iso-east-1', false, false, 'https://s3.us-iso-east-1.c2s.ic.gov'],
    ['us-isob-east-1', true, true, 'https://s3-fips.dualstack.us-isob-east-1.sc2s.sgov.gov'],
    ['us-isof-south-1', false, false, 'https://s3.us-isof-south-1.csp.hci.ic.gov'],
    ['eu-isoe-west-1', true, false, 'https://s3-fips.eu-isoe-west-1.cloud.adc-e.uk'],
  ])(
    "the address of S3 is that of AWS's SDK: %s (FIPS: %s, dual stack: %s)",
    (region, fips, dual, endpoint) => {
      const env = {
        AWS_REGION: region,
        AWS_USE_FIPS_ENDPOINT: String(fips),
        AWS_USE_DUALSTACK_ENDPOINT: String(dual),
      };
      expect(readEndpoint('s3', env)).toEqual({ region, endpoint });
    },
  );

  test.each([
    ['AWS_ENDPOINT_URL_DYNAMODB', { AWS_ENDPOINT_URL_DYNAMODB: 'http://a' }, 'http://a'],
    ['AWS_ENDPOINT_URL', { AWS_ENDPOINT_URL: 'http://b' }, 'http://b'],
    [
      'the one of the service before the one of all',
      { AWS_ENDPOINT_URL_DYNAMODB: 'http://a', AWS_ENDPOINT_URL: 'http://b' },
      'http://a',
    ],
    [
      'none where AWS_IGNORE_CONFIGURED_ENDPOINT_URLS is true',
      { AWS_ENDPOINT_URL_DYNAMODB: 'http://a', AWS_IGNORE_CONFIGURED_ENDPOINT_URLS: 'true' },
      'https://dynamodb.eu-west-1.amazonaws.com',
    ],
    [
      'none where it is empty',
      { AWS_ENDPOINT_URL: '' },
      'https://dynamodb.eu-west-1.amazonaws.com',
    ],
  ])('an address in the environment replaces that of the region: %s', (_, env, endpoint) => {
    const found = readEndpoint('dynamodb', { AWS_REGION: 'eu-west-1', ...env });
    expect(found).toEqual({ region: 'eu-west-1', endpoint });
  });

  test.each([undefined, '', 'evil.example/', 'eu-west-1.evil.example', 'EU-WEST-1', '-'])(
    'a region that is missing or cannot be part of a host name is an error: %s',
    (region) => {
      expect(() => readEndpoint('dynamodb', { AWS_REGION: region })).toThrow('AWS_REGION');
    },
  );
});
