import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { App, Validations } from 'aws-cdk-lib';
import { CfnFunction } from 'aws-cdk-lib/aws-lambda';
import { Bucket } from 'aws-cdk-lib/aws-s3';
import { AwsSolutionsChecks, ServerlessChecks } from 'cdk-nag';
import { expect, onTestFinished, test } from 'vitest';
import * as z from 'zod';
import cdk from '../../cdk.json' with { type: 'json' };
import { modelOn } from '../support/models.ts';
import { createStack, EVERY_OPTION, WEB_FOLDER } from './synth.ts';

const Report = z.object({
  pluginReports: z.array(
    z.object({
      pluginName: z.string(),
      violations: z.array(
        z.object({
          ruleName: z.string(),
          violatingConstructs: z.array(z.object({ constructPath: z.string() })),
        }),
      ),
    }),
  ),
});

/** Returns the findings of `cdk synth` that are not acknowledged. */
const findingsOf = (
  context: Record<string, string>,
  props: Parameters<typeof createStack>[1] = {},
  change: (stack: ReturnType<typeof createStack>) => void = () => {},
): string[] => {
  const outdir = mkdtempSync(join(tmpdir(), 'rules-'));
  onTestFinished(() => rmSync(outdir, { recursive: true }));
  const app = new App({ outdir, context: { ...cdk.context, ...context } });
  const folder = context.webFunction === 'on' ? { webFolder: WEB_FOLDER } : {};
  change(createStack(app, { ...folder, ...props }));
  Validations.of(app).addPlugins(new AwsSolutionsChecks(app), new ServerlessChecks(app));
  try {
    app.synth();
  } catch {
    // Findings make synth throw; they are read from the report.
  }
  const report = Report.parse(
    JSON.parse(readFileSync(join(outdir, 'validation-report.json'), 'utf8')),
  );
  return report.pluginReports.flatMap(({ violations }) =>
    violations.flatMap(({ ruleName, violatingConstructs }) =>
      violatingConstructs.map(({ constructPath }) => `${ruleName} ${constructPath}`),
    ),
  );
};

const baseUrl = 'https://bedrock-runtime.eu-central-1.amazonaws.com/anthropic';
const bedrock = { upstream: 'bedrock', protocol: 'messages', baseUrl, auth: 'iam' } as const;
const profileArn = 'arn:aws:bedrock:eu-central-1:123456789012:application-inference-profile/a1b2';
/** Inference profiles of Amazon Bedrock, one of them by its ARN. */
const BEDROCK = modelOn(
  ['eu.anthropic.claude-x', profileArn].map((model) => ({ ...bedrock, model })),
);

test.each([
  // In this order, as CDK loads rules anew for a stack that has other types of resources than the one before it.
  ['prod with every option', EVERY_OPTION, {}],
  [
    'prod with existing data, inference profiles of Amazon Bedrock and no Function URL',
    {
      stage: 'prod',
      functionUrl: 'off',
      keysTable: 'keys-restored',
      upstreamSecret: 'arn:aws:secretsmanager:eu-west-1:123456789012:secret:upstreams-a1B2c3',
    },
    { models: [BEDROCK] },
  ],
  ['prod with a Web Function', { stage: 'prod', webFunction: 'on' }, {}],
  ['dev', {}, {}],
])('%s has no unacknowledged finding of the security rules', (_, context, props) => {
  expect(findingsOf(context, props)).toEqual([]);
});

test('the security rules find an open bucket, and synth reports a property that CloudFormation would reject (99,999 MB of memory)', () => {
  const findings = findingsOf({}, {}, (stack) => {
    new Bucket(stack, 'Open');
    const code = { zipFile: 'x' };
    const role = 'arn:aws:iam::123456789012:role/any';
    const rest = { runtime: 'nodejs24.x', handler: 'index.handler' };
    new CfnFunction(stack, 'TooLarge', { code, role, memorySize: 99_999, ...rest });
  });
  expect(findings).toContainEqual(expect.stringMatching(/^AwsSolutions-S1 .*\/Open/));
  expect(findings).toContainEqual(expect.stringMatching(/F3034 .*TooLarge/));
});
