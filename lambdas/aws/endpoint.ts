const OVERRIDES = {
  'cognito-idp': 'AWS_ENDPOINT_URL_COGNITO_IDENTITY_PROVIDER',
  dynamodb: 'AWS_ENDPOINT_URL_DYNAMODB',
  events: 'AWS_ENDPOINT_URL_EVENTBRIDGE',
  s3: 'AWS_ENDPOINT_URL_S3',
  secretsmanager: 'AWS_ENDPOINT_URL_SECRETS_MANAGER',
  sns: 'AWS_ENDPOINT_URL_SNS',
  sqs: 'AWS_ENDPOINT_URL_SQS',
};
export type AwsServiceName = keyof typeof OVERRIDES;

type Variables = Record<string, string | undefined>;

/** DNS suffixes by the beginning of a region: the usual one and that of dual-stack addresses. */
const PARTITIONS: [region: RegExp, suffix: string, dualStackSuffix: string][] = [
  [/^cn-/, 'amazonaws.com.cn', 'api.amazonwebservices.com.cn'],
  [/^eusc-/, 'amazonaws.eu', 'api.amazonwebservices.eu'],
  [/^us-iso-/, 'c2s.ic.gov', 'api.aws.ic.gov'],
  [/^us-isob-/, 'sc2s.sgov.gov', 'api.aws.scloud'],
  [/^eu-isoe-/, 'cloud.adc-e.uk', 'api.cloud-aws.adc-e.uk'],
  [/^us-isof-/, 'csp.hci.ic.gov', 'api.aws.hci.ic.gov'],
  [/^/, 'amazonaws.com', 'api.aws'],
];

/** DynamoDB's usual addresses in GovCloud are the validated ones. */
const isAlwaysFips = (service: AwsServiceName, region: string): boolean =>
  service === 'dynamodb' && region.startsWith('us-gov-');

/** The usual addresses of Secrets Manager in the public partitions have IPv4 and IPv6. */
const isAlwaysDualStack = (service: AwsServiceName, suffix: string): boolean =>
  service === 'secretsmanager' && suffix.startsWith('amazonaws.com');

const isOn = (value: string | undefined): boolean => value?.toLowerCase() === 'true';

const overrideOf = (service: AwsServiceName, env: Variables): string | undefined =>
  isOn(env.AWS_IGNORE_CONFIGURED_ENDPOINT_URLS)
    ? undefined
    : env[OVERRIDES[service]] || env.AWS_ENDPOINT_URL || undefined;

/** A region becomes part of a host name that gets signed requests. */
const REGION = /^[a-z\d]+(?:-[a-z\d]+)*$/;

/**
 * Region and address of a service, from the variables that AWS's SDKs read.
 * @throws Error if AWS_REGION is missing or invalid
 */
export const readEndpoint = (service: AwsServiceName, env: Variables) => {
  const region = env.AWS_REGION ?? '';
  if (!REGION.test(region)) throw new Error(`AWS_REGION must be a region (got '${region}').`);
  const override = overrideOf(service, env);
  if (override) return { region, endpoint: override };
  const [, suffix = '', dualStackSuffix] =
    PARTITIONS.find(([regions]) => regions.test(region)) ?? [];
  const isDualStack = isOn(env.AWS_USE_DUALSTACK_ENDPOINT);
  const isFips = isOn(env.AWS_USE_FIPS_ENDPOINT) && (isDualStack || !isAlwaysFips(service, region));
  const name = `${service}${isFips ? '-fips' : ''}`;
  // The dual-stack addresses of S3 are older than the suffix for them.
  if (service === 's3') {
    return {
      region,
      endpoint: `https://${name}${isDualStack ? '.dualstack' : ''}.${region}.${suffix}`,
    };
  }
  const host = `${name}.${region}`;
  const usesUsual = !isDualStack || isAlwaysDualStack(service, suffix);
  return { region, endpoint: `https://${host}.${usesUsual ? suffix : dualStackSuffix}` };
};

/** Options of the client of a service: its address, and what the clients of a process share. */
export const createAwsOptions =
  <Shared extends object>(env: Variables, shared: Shared) =>
  (service: AwsServiceName) => ({ ...readEndpoint(service, env), ...shared });
