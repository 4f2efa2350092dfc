import { Duration } from 'aws-cdk-lib';
import * as apigateway from 'aws-cdk-lib/aws-apigateway';
import type { Code } from 'aws-cdk-lib/aws-lambda';
import { Construct } from 'constructs';
import type { ConsoleEnv } from '../lambdas/env.ts';
import { acknowledge } from './acknowledge.ts';
import { CONSOLE_FILES } from './bundle/bundle.ts';
import { createFunction } from './function-parts.ts';
import type { Stage } from './stage.ts';

/** Folder of script and style in the addresses of the page. */
export const STREAMED_FOLDER = 'dashboard/files';

const PUBLIC = 'The page, its files and the document are public; calls are authorized.';

export const acknowledgePublic = (method: apigateway.Method): void =>
  acknowledge(method, { 'AwsSolutions-APIG4': PUBLIC, 'AwsSolutions-COG4': PUBLIC });

/**
 * Streams script and style of the console: in its buffered mode, which the admin function needs, the REST API passes text only,
 * and in its streaming mode brotli too. The function is separate because a rollback of the code alone leaves the admin function
 * with code that does not stream. Its role reaches no table.
 */
export const addConsoleFiles = (
  scope: Construct,
  {
    stage,
    code,
    page,
    ...signIn
  }: { stage: Stage; code: Code; page: apigateway.Resource } & Pick<
    ConsoleEnv,
    'SIGN_IN_DOMAIN' | 'SIGN_IN_CLIENT'
  >,
): void => {
  // It reads nothing that the key encrypts.
  const own = { ...stage, kmsKey: undefined };
  const { function: files } = createFunction(new Construct(scope, 'Files'), own, {
    does: 'script and style of the console',
    code,
    // Less CPU would delay the first page.
    memorySize: 512,
    timeout: Duration.seconds(10),
    environment: { STAGE: stage.name, CONSOLE_FILES, ...signIn } satisfies ConsoleEnv,
  });
  const responseTransferMode = apigateway.ResponseTransferMode.STREAM;
  const integration = new apigateway.LambdaIntegration(files, {
    allowTestInvoke: false,
    responseTransferMode,
  });
  const file = page.addResource('files').addResource('{file}');
  acknowledgePublic(file.addMethod('GET', integration));
};
