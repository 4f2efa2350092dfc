import { describe, expect, test } from 'vitest';
import * as z from 'zod';
import { synthTemplate } from './synth.ts';

const Answer = z.object({
  Properties: z.object({
    ResponseType: z.string(),
    StatusCode: z.string().optional(),
    ResponseParameters: z.record(z.string(), z.string()),
    ResponseTemplates: z.object({ 'application/json': z.string() }),
  }),
});

const answers = Object.values(
  synthTemplate().findResources('AWS::ApiGateway::GatewayResponse'),
).map((resource) => Answer.parse(resource).Properties);

const bodyOf = (answer: (typeof answers)[number]): unknown =>
  JSON.parse(answer.ResponseTemplates['application/json']);

describe('what API Gateway answers by itself', () => {
  test('covers every refusal, known and unknown', () => {
    const kinds = answers.map(({ ResponseType }) => ResponseType);
    expect(kinds).toEqual(
      expect.arrayContaining([
        'DEFAULT_4XX',
        'DEFAULT_5XX',
        'REQUEST_TOO_LARGE',
        'THROTTLED',
        'INTEGRATION_FAILURE',
        'INTEGRATION_TIMEOUT',
      ]),
    );
  });

  test.each(answers)('$ResponseType is an envelope that both families read', (answer) => {
    expect(bodyOf(answer)).toEqual({
      type: 'error',
      error: {
        type: expect.stringMatching(/^(invalid_request_error|rate_limit_error|api_error)$/),
        message: expect.stringMatching(/\.$/),
      },
      request_id: '$context.requestId',
    });
  });

  test.each(answers)('$ResponseType carries the request id', ({ ResponseParameters: headers }) => {
    expect(headers['gatewayresponse.header.x-request-id']).toBe('context.requestId');
    expect(headers['gatewayresponse.header.request-id']).toBe('context.requestId');
  });

  test('tells operators what IAM has against them', () => {
    const told = answers
      .filter(({ ResponseType }) => /DENIED|SIGNATURE|EXPIRED/.test(ResponseType))
      .map((answer) => JSON.stringify(bodyOf(answer)));
    expect(told.toSorted()).toEqual([
      expect.stringContaining('have expired'),
      expect.stringContaining('signature is not valid'),
      expect.stringContaining('execute-api:Invoke'),
    ]);
  });

  test('a status of 5xx is an api_error, and 429 a rate_limit_error with a time to wait', () => {
    const byKind = new Map(answers.map((answer) => [answer.ResponseType, answer]));
    for (const [kind, answer] of byKind) {
      const isServerFault = kind === 'DEFAULT_5XX' || answer.StatusCode?.startsWith('5');
      expect(bodyOf(answer)).toMatchObject({
        error: { type: isServerFault ? 'api_error' : expect.not.stringContaining('api_error') },
      });
    }
    const throttled = byKind.get('THROTTLED');
    expect(throttled?.StatusCode).toBe('429');
    expect(throttled?.ResponseParameters['gatewayresponse.header.retry-after']).toBe("'1'");
  });
});
