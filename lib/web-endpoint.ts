import { Duration, RemovalPolicy, Stack } from 'aws-cdk-lib';
import { Metric } from 'aws-cdk-lib/aws-cloudwatch';
import * as lambda from 'aws-cdk-lib/aws-lambda';
import { LogGroup } from 'aws-cdk-lib/aws-logs';
import { Construct } from 'constructs';
import { acknowledge, acknowledgeFunction } from './acknowledge.ts';
import { SUM } from './platform-metrics.ts';
import type { RouterFunction } from './router-function.ts';
import type { Stage } from './stage.ts';

export type WebEndpointProps = {
  stage: Stage;
  /** The function whose role, log group and environment it shares. */
  router: RouterFunction;
  /** Folder of the bundled HTTP server (lambdas/web.ts). */
  folder: string;
};

/** Concurrent streams per environment, which has two cores. */
const PER_ENVIRONMENT = 64;
/** CDK's default, stated because the metrics have it as a dimension. */
const ENDPOINT_NAME = 'prod';
/** The smallest cap that AWS accepts. */
const MIN_ENVIRONMENTS = 2;

/**
 * Web Functions have no reserved concurrency: it becomes a cap on environments, and 0 a rate of 0.
 */
const endpointLimits = ({
  reservedConcurrency,
}: Stage): lambda.WebFunctionDefaultEndpointOptions => {
  if (reservedConcurrency === undefined) return {};
  if (reservedConcurrency === 0) return { rateLimit: 0 };
  const environments = Math.ceil(reservedConcurrency / PER_ENVIRONMENT);
  return { maxEnvironments: Math.max(MIN_ENVIRONMENTS, environments) };
};

/**
 * The router as a Lambda Web Function. One environment serves many streams concurrently and is
 * billed for the CPU and memory it uses, not for waiting; a client disconnect aborts the upstream
 * request.
 */
export class WebEndpoint extends Construct {
  readonly url: string;
  /** Responses of 5xx, of the router and of AWS; a period without any has no data. */
  readonly serverErrors: Metric;

  constructor(scope: Construct, id: string, { stage, router, folder }: WebEndpointProps) {
    super(scope, id);
    const { role, logGroup, environment } = router;
    const { stackName, region } = Stack.of(this);
    // CDK's default group for the copier keeps logs two years and stays after the stack is deleted.
    const copierLogs = new LogGroup(this, 'CopierLogs', {
      retention: stage.logRetention,
      removalPolicy: RemovalPolicy.DESTROY,
    });
    const web = new lambda.WebFunction(this, 'WebFunction', {
      // The name is unique across regions, and CDK's default is the same in each region.
      webFunctionName: `${stackName}-${region}`,
      code: lambda.WebFunctionCode.fromAssetToManagedBucket(folder, {
        copyOptions: { logGroup: copierLogs },
      }),
      runtime: lambda.WebFunctionRuntime.NODEJS_24_X,
      role,
      logGroup,
      environment,
      applicationLogLevel: lambda.ApplicationLogLevel.INFO,
      systemLogLevel: lambda.SystemLogLevel.WARN,
      timeout: Duration.minutes(15),
      maxConcurrencyPerEnvironment: PER_ENVIRONMENT,
      // The router checks API keys itself.
      defaultEndpointAuth: lambda.WebFunctionAuthType.APPLICATION_MANAGED,
      defaultEndpoint: { endpointName: ENDPOINT_NAME, ...endpointLimits(stage) },
    });
    acknowledge(web, {
      '@aws-cdk/aws-lambda:webFunctionPublicEndpoint': 'The router checks API keys itself.',
    });
    acknowledgeHelpers(Stack.of(this));
    this.serverErrors = new Metric({
      namespace: 'AWS/Lambda/Web',
      metricName: 'HTTPResponseStatusClass5XX',
      dimensionsMap: { FunctionName: web.webFunctionName, EndpointName: ENDPOINT_NAME },
      ...SUM,
    });
    this.url = `https://${web.endpoint.domainName}`;
  }
}

const COPIER =
  'Created by CDK; runs during deployment and copies the bundle from the bootstrap bucket.';
const LOGS_POLICY = 'arn:<AWS::Partition>:iam::aws:policy/service-role/AWSLambdaBasicExecutionRole';
const COPIER_ACTIONS = [
  'Resource::arn:<AWS::Partition>:s3:::cdk-hnb659fds-assets-<AWS::AccountId>-<AWS::Region>/*',
  'Resource::<AWSCDKWebFunctionAssetBucket5B596593.Arn>/web-function/*',
  'Action::s3:Abort*',
  'Action::s3:DeleteObject*',
];

/**
 * Suppresses findings on CDK's helpers of a Web Function: the bucket with its code, which only AWS
 * reads, and the functions that fill and empty it during a deployment.
 */
const acknowledgeHelpers = (stack: Stack): void => {
  const bucket = stack.node.tryFindChild('AWSCDKWebFunctionAssetBucket');
  if (bucket) {
    acknowledge(bucket, { 'AwsSolutions-S1': 'Contains only the bundle, which only AWS reads.' });
  }
  const copiers = stack.node.children.filter(({ node }) => node.id.startsWith('Custom::S3Object'));
  for (const copier of copiers) {
    acknowledgeFunction(copier);
    acknowledge(copier, {
      'Serverless-LambdaDefaultMemorySize': COPIER,
      [`AwsSolutions-IAM4[Policy::${LOGS_POLICY}]`]: COPIER,
      ...Object.fromEntries(
        COPIER_ACTIONS.map((finding) => [`AwsSolutions-IAM5[${finding}]`, COPIER]),
      ),
    });
  }
};
