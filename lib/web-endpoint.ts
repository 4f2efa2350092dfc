import { Duration, RemovalPolicy, Stack } from 'aws-cdk-lib';
import {
  ApplicationLogLevel,
  SystemLogLevel,
  WebFunction,
  WebFunctionAuthType,
  WebFunctionCode,
  type WebFunctionDefaultEndpointOptions,
  WebFunctionRuntime,
} from 'aws-cdk-lib/aws-lambda';
import { LogGroup } from 'aws-cdk-lib/aws-logs';
import { Construct } from 'constructs';
import { acknowledge, acknowledgeFunction } from './acknowledge.ts';
import type { RouterFunction } from './router-function.ts';
import type { Stage } from './stage.ts';

export type WebEndpointProps = {
  stage: Stage;
  router: RouterFunction;
  /** Folder of the bundle that listens. */
  folder: string;
};

/** Streams that an environment of two cores carries at once. */
const PER_ENVIRONMENT = 64;
/** The platform takes no smaller cap. */
const FEWEST_ENVIRONMENTS = 2;

/** There is no reserved concurrency here: environments are capped instead, and the kill switch is a rate of 0. */
const endpointLimits = ({ reservedConcurrency }: Stage): WebFunctionDefaultEndpointOptions => {
  if (reservedConcurrency === undefined) return {};
  if (reservedConcurrency === 0) return { rateLimit: 0 };
  const environments = Math.ceil(reservedConcurrency / PER_ENVIRONMENT);
  return { maxEnvironments: Math.max(FEWEST_ENVIRONMENTS, environments) };
};

/**
 * The same router as a Lambda Web Function: an environment serves many streams at once and is billed for
 * the CPU and memory it uses, not for waiting; and a caller's leaving stops the upstream.
 */
export class WebEndpoint extends Construct {
  readonly url: string;

  constructor(scope: Construct, id: string, { stage, router, folder }: WebEndpointProps) {
    super(scope, id);
    const { role, logGroup, environment } = router;
    const { stackName, region } = Stack.of(this);
    // The copier's own group would stay for two years, also after the stack.
    const copierLogs = new LogGroup(this, 'CopierLogs', {
      retention: stage.logRetention,
      removalPolicy: RemovalPolicy.DESTROY,
    });
    const web = new WebFunction(this, 'WebFunction', {
      // Such a name is taken in all regions at once, and CDK's is the same in each.
      webFunctionName: `${stackName}-${region}`,
      code: WebFunctionCode.fromAssetToManagedBucket(folder, {
        copyOptions: { logGroup: copierLogs },
      }),
      runtime: WebFunctionRuntime.NODEJS_24_X,
      role,
      logGroup,
      environment,
      applicationLogLevel: ApplicationLogLevel.INFO,
      systemLogLevel: SystemLogLevel.WARN,
      timeout: Duration.minutes(15),
      maxConcurrencyPerEnvironment: PER_ENVIRONMENT,
      // The router checks API keys itself.
      defaultEndpointAuth: WebFunctionAuthType.APPLICATION_MANAGED,
      defaultEndpoint: endpointLimits(stage),
    });
    acknowledge(web, {
      '@aws-cdk/aws-lambda:webFunctionPublicEndpoint': 'The router checks API keys itself.',
    });
    acknowledgeHelpers(Stack.of(this));
    this.url = `https://${web.endpoint.domainName}`;
  }
}

const COPIER =
  'CDK makes it and runs it while deploying: it copies the bundle from the bootstrap bucket into this one.';
const LOGS_POLICY = 'arn:<AWS::Partition>:iam::aws:policy/service-role/AWSLambdaBasicExecutionRole';
const COPIER_MAY = [
  'Resource::arn:<AWS::Partition>:s3:::cdk-hnb659fds-assets-<AWS::AccountId>-<AWS::Region>/*',
  'Resource::<AWSCDKWebFunctionAssetBucket5B596593.Arn>/web-function/*',
  'Action::s3:Abort*',
  'Action::s3:DeleteObject*',
];

/** Web Functions read their code from a bucket that only AWS may read, filled while deploying. */
const acknowledgeHelpers = (stack: Stack): void => {
  const bucket = stack.node.tryFindChild('AWSCDKWebFunctionAssetBucket');
  if (bucket) {
    acknowledge(bucket, { 'AwsSolutions-S1': 'It holds the bundle, which only AWS reads.' });
  }
  const copiers = stack.node.children.filter(({ node }) => node.id.startsWith('Custom::S3Object'));
  for (const copier of copiers) {
    acknowledgeFunction(copier);
    acknowledge(copier, {
      'Serverless-LambdaDefaultMemorySize': COPIER,
      [`AwsSolutions-IAM4[Policy::${LOGS_POLICY}]`]: COPIER,
      ...Object.fromEntries(COPIER_MAY.map((what) => [`AwsSolutions-IAM5[${what}]`, COPIER])),
    });
  }
};
