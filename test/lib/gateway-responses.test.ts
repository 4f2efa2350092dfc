import { describe, expect, test } from 'vitest';
import * as z from 'zod';
import { synthTemplate } from './synth.ts';

const GatewayResponse = z.object({
  Properties: z.object({
    ResponseType: z.string(),
    StatusCode: z.string().optional(),
    ResponseParameters: z.record(z.string(), z.string()),
    ResponseTemplates: z.object({ 'application/json': z.string() }),
  }),
});

const responses = Object.values(
  synthTemplate().findResources('AWS::ApiGateway::GatewayResponse'),
).map((resource) => GatewayResponse.parse(resource).Properties);

const bodyOf = (answer: (typeof responses)[number]): unknown =>
  JSON.parse(answer.ResponseTemplates['application/json']);

describe('gateway responses', () => {
  test('the stack replaces the 4xx and 5xx defaults and every specific error of API Gateway', () => {
    const kinds = responses.map(({ ResponseType }) => ResponseType);
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

  test.each(responses)(
    'the body of $ResponseType is an error envelope for every caller protocol',
    (answer) => {
      expect(bodyOf(answer)).toEqual({
        type: 'error',
        error: {
          type: expect.stringMatching(/^(invalid_request_error|rate_limit_error|api_error)$/),
          message: expect.stringMatching(/\.$/),
        },
        request_id: '$context.requestId',
      });
    },
  );

  test.each(responses)(
    '$ResponseType has the request id in two headers',
    ({ ResponseParameters: headers }) => {
      expect(headers['gatewayresponse.header.x-request-id']).toBe('context.requestId');
      expect(headers['gatewayresponse.header.request-id']).toBe('context.requestId');
    },
  );

  test('IAM errors name the missing permission, the signature or the expired credentials', () => {
    const messages = responses
      .filter(({ ResponseType }) => /DENIED|SIGNATURE|EXPIRED/.test(ResponseType))
      .map((answer) => JSON.stringify(bodyOf(answer)));
    expect(messages.toSorted()).toEqual([
      expect.stringContaining('execute-api:Invoke'),
      expect.stringContaining('Invalid AWS signature'),
      expect.stringContaining('have expired'),
    ]);
  });

  test('a 5xx gateway response has type api_error, and a 429 a retry-after header', () => {
    const byKind = new Map(responses.map((answer) => [answer.ResponseType, answer]));
    for (const [kind, answer] of byKind) {
      const isServerError = kind === 'DEFAULT_5XX' || answer.StatusCode?.startsWith('5');
      expect(bodyOf(answer)).toMatchObject({
        error: { type: isServerError ? 'api_error' : expect.not.stringContaining('api_error') },
      });
    }
    const throttled = byKind.get('THROTTLED');
    expect(throttled?.StatusCode).toBe('429');
    expect(throttled?.ResponseParameters['gatewayresponse.header.retry-after']).toBe("'1'");
  });
});

test('every error of API Gateway can be read by pages if the stage has CORS origins, and by none otherwise', () => {
  const name = 'gatewayresponse.header.access-control-allow-origin';
  const open = synthTemplate({ corsOrigins: 'https://app.example,https://other.example' });
  const found = Object.values(open.findResources('AWS::ApiGateway::GatewayResponse'));
  expect(found).toHaveLength(responses.length);
  for (const resource of found) {
    expect(GatewayResponse.parse(resource).Properties.ResponseParameters[name]).toBe("'*'");
  }
  for (const { ResponseParameters } of responses) expect(ResponseParameters[name]).toBeUndefined();
});
