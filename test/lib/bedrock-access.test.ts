import { describe, expect, test } from 'vitest';
import { parseModels, type Target } from '../../lambdas/catalog/parse-models.ts';
import { modelOn } from '../support/models.ts';
import { models, synthTemplate } from './synth.ts';

const RUNTIME = 'https://bedrock-runtime.eu-central-1.amazonaws.com/anthropic';
const MANTLE = 'https://bedrock-mantle.eu-west-1.api.aws/v1';
const INVOKE = ['bedrock:InvokeModel', 'bedrock:InvokeModelWithResponseStream'];

const targetOf = (baseUrl: string, model: string): Target => ({
  ...{ upstream: 'bedrock', protocol: 'messages', baseUrl, model, auth: 'iam' },
});

/** The text that CloudFormation makes of an ARN. */
const resolved = (_: string, value: unknown): unknown => {
  if (typeof value !== 'object' || value === null) return value;
  if ('Ref' in value) return String(value.Ref).replace(/^AWS::/, '');
  if ('Fn::Join' in value && Array.isArray(value['Fn::Join'])) {
    const parts: unknown[] = value['Fn::Join'][1];
    return parts.map((part) => (typeof part === 'string' ? part : resolved('', part))).join('');
  }
  return value;
};

/** Statements on Bedrock in the policy of each role. */
const statementsFor = (...targets: Target[]): unknown[][] => {
  const template = synthTemplate({}, { models: parseModels([modelOn(targets)]) });
  return Object.values(template.findResources('AWS::IAM::Policy')).map(({ Properties }) => {
    const statements: { Action: unknown }[] = JSON.parse(
      JSON.stringify(Properties.PolicyDocument.Statement, resolved),
    );
    return statements.filter(({ Action }) => JSON.stringify(Action).includes('bedrock'));
  });
};

/** Of the router and of the admin function, whose doctor makes the same calls; between them what streams the console's files. */
const both = (...statements: unknown[]) => [statements, [], statements];

describe('the calls of Amazon Bedrock that the roles allow', () => {
  test('a model on bedrock-runtime is allowed in the region of its address only', () => {
    expect(statementsFor(targetOf(RUNTIME, 'openai.gpt-oss-120b-1:0'))).toEqual(
      both({
        Effect: 'Allow',
        Action: INVOKE,
        Resource: 'arn:Partition:bedrock:eu-central-1::foundation-model/openai.gpt-oss-120b-1:0',
      }),
    );
  });

  test('an inference profile is allowed, and its model through it only', () => {
    const profile =
      'arn:Partition:bedrock:eu-central-1:AccountId:inference-profile/eu.anthropic.claude-x';
    expect(statementsFor(targetOf(RUNTIME, 'eu.anthropic.claude-x'))).toEqual(
      both(
        { Effect: 'Allow', Action: INVOKE, Resource: profile },
        {
          Effect: 'Allow',
          Action: INVOKE,
          Condition: { StringEquals: { 'bedrock:InferenceProfileArn': profile } },
          Resource: 'arn:Partition:bedrock:*::foundation-model/anthropic.claude-x',
        },
      ),
    );
  });

  test('a model given as ARN is allowed under that ARN, and any model through it only', () => {
    const arn = 'arn:aws:bedrock:eu-central-1:123456789012:application-inference-profile/a1b2';
    expect(statementsFor(targetOf(RUNTIME, arn))).toEqual(
      both(
        { Effect: 'Allow', Action: INVOKE, Resource: arn },
        {
          Effect: 'Allow',
          Action: INVOKE,
          Condition: { StringEquals: { 'bedrock:InferenceProfileArn': arn } },
          Resource: 'arn:Partition:bedrock:*::foundation-model/*',
        },
      ),
    );
  });

  test('a model on bedrock-mantle is allowed in the default project by its name', () => {
    const [target] = [targetOf(MANTLE, 'openai.gpt-oss-120b')];
    expect(statementsFor(target, { ...target, protocol: 'chat' })).toEqual(
      both({
        Effect: 'Allow',
        Action: 'bedrock-mantle:CreateInference',
        Condition: { StringEquals: { 'bedrock-mantle:Model': 'openai.gpt-oss-120b' } },
        Resource: 'arn:Partition:bedrock-mantle:eu-west-1:AccountId:project/default',
      }),
    );
  });

  test('a catalog without auth "iam" allows no call of Amazon Bedrock', () => {
    expect(statementsFor(...models.flatMap(({ targets }) => targets))).toEqual([[], [], []]);
  });

  test('a stack whose targets are all called by the role asks for no credential', () => {
    const catalog = parseModels([modelOn([targetOf(RUNTIME, 'a.model')])]);
    const template = synthTemplate({}, { models: catalog });
    template.hasOutput('UpstreamSecretFields', { Value: 'none' });
  });
});
