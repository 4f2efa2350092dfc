import { mkdirSync, mkdtempSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { App } from 'aws-cdk-lib';
import { Template } from 'aws-cdk-lib/assertions';
import { Code } from 'aws-cdk-lib/aws-lambda';
import cdk from '../../cdk.json' with { type: 'json' };
import catalog from '../../lambdas/catalog/models.json' with { type: 'json' };
import { parseModels } from '../../lambdas/catalog/parse-models.ts';
import { RouterStack } from '../../lib/router-stack.ts';
import { readStage } from '../../lib/stage.ts';
import { sharedFolder } from '../house/leftovers.ts';

const createOutdir = (): string => {
  mkdirSync(sharedFolder(), { recursive: true });
  return mkdtempSync(join(sharedFolder(), 'app-'));
};

/** A CDK app with `context` on top of that in cdk.json. Its output is deleted after all tests. */
export const createApp = (context: Record<string, unknown> = {}): App =>
  new App({
    outdir: createOutdir(),
    context: { ...cdk.context, ...context },
    // Takes half of a synth's time; security-rules.test.ts runs it.
    builtinCloudFormationValidation: false,
  });

/** The shipped catalog, whose hosts are examples. */
export const exampleModels = parseModels(catalog);

/** The shipped catalog with a host that is not an example. */
export const models = exampleModels.map((model) => ({
  ...model,
  targets: model.targets.map((target) => ({ ...target, baseUrl: 'https://upstream.test/v1' })),
}));

/** The context of a prod stage with every option except the Web Function. */
export const EVERY_OPTION = {
  stage: 'prod',
  reservedConcurrency: '100',
  alarmEmail: 'oncall@example.com',
  alertSlack: 'secret',
  alertWebhook: 'https://hooks.example.com/router',
  runbookUrl: 'https://wiki.example.com/router',
  domainName: 'router.example.com',
  certificateArn: 'arn:aws:acm:eu-west-1:123456789012:certificate/one',
  firewallRate: '2000',
  memory: '1024',
  restRate: '500',
  kmsKey: 'arn:aws:kms:eu-west-1:123456789012:key/1234abcd-12ab-34cd-56ef-1234567890ab',
  tags: 'team=ai',
  corsOrigins: 'https://app.example',
};
/** Replaces the bundle of the Web Function; any folder works because its content is not read. */
export const WEB_FOLDER = fileURLToPath(new URL('../../lambdas/web', import.meta.url));

type Props = Partial<Pick<ConstructorParameters<typeof RouterStack>[2], 'models' | 'webFolder'>>;

/** Creates the stack with inline code instead of the bundles, which is 10 times faster. */
export const createStack = (app: App, props: Props = {}): RouterStack => {
  const stage = readStage(app.node);
  return new RouterStack(app, 'Router', {
    stage,
    models,
    code: Code.fromInline('exports.handler = async () => {};'),
    adminCode: Code.fromInline('exports.handler = async () => {};'),
    consoleCode: stage.hasConsole
      ? Code.fromInline('exports.handler = async () => {};')
      : undefined,
    otlpCode: Code.fromInline('exports.handler = async () => {};'),
    alertsCode: Code.fromInline('exports.handler = async () => {};'),
    ...props,
  });
};

/** Creates the stack with the context of cdk.json and the given options. */
export const synthStack = (context: Record<string, unknown> = {}, props: Props = {}): RouterStack =>
  createStack(createApp(context), props);

const templates = new Map<string, Template>();

/** The template of `synthStack`, synthesized once for all files of a worker. */
export const synthTemplate = (...args: Parameters<typeof synthStack>): Template => {
  const name = JSON.stringify(args);
  const template = templates.get(name) ?? Template.fromStack(synthStack(...args));
  templates.set(name, template);
  return template;
};
