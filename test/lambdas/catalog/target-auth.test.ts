import { describe, expect, test } from 'vitest';
import { parseModels } from '../../../lambdas/catalog/parse-models.ts';
import { modelOn } from '../../support/models.ts';

const RUNTIME = 'https://bedrock-runtime.eu-central-1.amazonaws.com/openai/v1';

const parse = (target: object) =>
  parseModels([
    { ...modelOn([]), targets: [{ upstream: 'u', protocol: 'chat', model: 'm', ...target }] },
  ]);

describe('how a target of the catalog is authenticated', () => {
  test.each([
    RUNTIME,
    'https://bedrock-runtime-fips.us-gov-west-1.amazonaws.com/anthropic',
    'https://bedrock-runtime.cn-north-1.amazonaws.com.cn/openai/v1',
    'https://bedrock-runtime.us-east-1.api.aws/openai/v1',
    'https://bedrock-mantle.ap-southeast-2.api.aws/anthropic',
  ])('auth "iam" is valid without a secret at %s', (baseUrl) => {
    expect(parse({ baseUrl, auth: 'iam' })).toHaveLength(1);
  });

  test.each([
    ['secret', 'no auth and no secret', { baseUrl: RUNTIME }, 'is required'],
    ['secret', 'auth "iam" and a secret', { auth: 'iam', secret: 's' }, 'must be removed'],
    ['authHeader', 'auth "iam" and authHeader', { auth: 'iam', authHeader: 'api-key' }, 'removed'],
    ...['https://us%zzer:word@a.example', 'https://user:w%E0ord@a.example'].map(
      (baseUrl) => ['baseUrl', baseUrl, { baseUrl, secret: 's' }, 'must have a user name'] as const,
    ),
    ['auth', 'an unknown auth', { auth: 'oauth', secret: 's' }, 'must be "iam"'],
    ...[
      'https://api.openai.com/v1',
      'https://bedrock-runtime.eu-central-1.amazonaws.com.evil.test/v1',
      'https://evil-bedrock-runtime.eu-central-1.amazonaws.com/v1',
      'https://bedrock.eu-central-1.amazonaws.com/v1',
      `${RUNTIME}?region=x`,
    ].map(
      (baseUrl) =>
        ['baseUrl', baseUrl, { baseUrl, auth: 'iam' }, 'must be https://bedrock-r'] as const,
    ),
  ] as const)('the error names %s for %s', (member, _, target, words) => {
    const place = new RegExp(
      `${words}[^\\n]*\\n[^\\n]*at \\[0\\]\\.targets\\[0\\]\\.${member}$`,
      'm',
    );
    expect(() => parse({ baseUrl: RUNTIME, ...target })).toThrow(place);
  });
});
