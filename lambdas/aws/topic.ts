import { AwsError, type AwsOptions, createSignedClient } from './signed-client.ts';

/** Publishes a text to subscribers of an SNS topic. @throws AwsError, or the error of the connection */
export type Publish = (message: { topic: string; subject: string; text: string }) => Promise<void>;

/** Longer and other subjects are rejected. */
const subjectOf = (text: string): string => text.replaceAll(/[^ -~]/g, '?').slice(0, 99);

/** SNS has no JSON protocol: a call is a form, an error is XML. */
export const createPublish = (options: AwsOptions): Publish => {
  const client = createSignedClient(
    {
      service: 'sns',
      timeouts: { connectMs: 1_000, requestMs: 5_000 },
      errorOf: ({ status }) => new AwsError('SnsError', { status, body: {} }),
    },
    options,
  );
  return async ({ topic, subject, text }) => {
    const body = new URLSearchParams({
      ...{ Action: 'Publish', Version: '2010-03-31', TopicArn: topic },
      ...{ Subject: subjectOf(subject), Message: text },
    }).toString();
    const headers = {
      'content-type': 'application/x-www-form-urlencoded; charset=utf-8',
      'content-length': String(Buffer.byteLength(body)),
    };
    await client.send({ method: 'POST', url: new URL(options.endpoint), headers, body });
  };
};
