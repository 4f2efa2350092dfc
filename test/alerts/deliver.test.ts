import { describe, expect, test } from 'vitest';
import { type Alert, alertOfLine } from '../../lambdas/alerts/alert.ts';
import { createDeliver } from '../../lambdas/alerts/deliver.ts';
import { systemClock } from '../../lambdas/support/clock.ts';
import { createPostJson, isInner } from '../../lambdas/webhooks/post.ts';
import { SECRET, startReceiver, verified } from './receiver.ts';

const ALERT: Alert = {
  ...{ id: 'one', subject: 'target/a/b', state: 'firing', at: 1_790_000_000_000 },
  ...{ title: 'Target <a&b> is down', text: 'It failed.', runbook: 'https://example.com/#x' },
};

describe('the address of a receiver', () => {
  test.each([
    '127.0.0.1',
    '127.1.2.3',
    '0.0.0.0',
    '169.254.169.254',
    '::1',
    '::',
    'fe80::1',
    'fd00:ec2::254',
    '::ffff:127.0.0.1',
    '::ffff:a9fe:a9fe',
    'localhost',
  ])('%s is an inner one', (address) => {
    expect(isInner(address)).toBe(true);
  });

  test.each(['93.184.216.34', '2606:2800:220:1::1', '::ffff:93.184.216.34'])(
    '%s is an outer one',
    (address) => {
      expect(isInner(address)).toBe(false);
    },
  );

  test.each(['127.0.0.1', 'localhost', '[::1]', '[::ffff:127.0.0.1]', '2130706433', '0x7f.1'])(
    'a receiver at http://%s gets nothing where inner addresses are refused',
    async (host) => {
      const receiver = await startReceiver();
      const { port } = new URL(receiver.url);
      const post = createPostJson((address) => !isInner(address));
      await expect(post(`http://${host}:${port}/`, '{}', {})).rejects.toThrow(/inner address/);
      expect(receiver.requests).toEqual([]);
    },
  );

  test('a redirection is not followed, and rejects the alert', async () => {
    const receiver = await startReceiver();
    receiver.answerWith((response) =>
      response.writeHead(307, { location: `${receiver.url}/other` }).end(),
    );
    const post = createPostJson(() => true);
    const form = { form: 'webhook', url: receiver.url, secret: SECRET } as const;
    const deliver = createDeliver({ receiver: form, post, clock: systemClock });
    await expect(deliver(ALERT)).rejects.toThrow('rejected');
    expect(receiver.requests).toHaveLength(1);
  });
});

describe('the message to a receiver', () => {
  /** What is posted, and whether it is taken. */
  const sent = async (secret: string) => {
    const posts: { body: string; headers: Record<string, string> }[] = [];
    const deliver = createDeliver({
      receiver: { form: 'webhook', url: 'https://example.com', secret },
      post: async (_, body, headers) => {
        posts.push({ body, headers });
        return { status: posts.length < 3 ? 500 : 200 };
      },
      // Pauses take no time.
      clock: { ...systemClock, after: (_, action) => systemClock.after(0, action) },
    });
    await deliver(ALERT);
    return posts;
  };

  test('each of three tries has the same id and a signature that the SDK of OpenAI verifies', async () => {
    const posts = await sent(SECRET);
    expect(posts).toHaveLength(3);
    expect(new Set(posts.map(({ headers }) => headers['webhook-id'])).size).toBe(1);
    for (const { body, headers } of posts) {
      expect(await verified(body, headers)).toMatchObject({ type: 'alert.firing' });
      const other = `whsec_${Buffer.alloc(32, 8).toString('base64')}`;
      await expect(verified(body, headers, other)).rejects.toThrow();
      await expect(verified(`${body} `, headers)).rejects.toThrow();
    }
  });

  test('the form for Slack escapes the signs of its markup and links the runbook', async () => {
    const receiver = await startReceiver();
    const form = { form: 'slack', url: `${receiver.url}/slack` } as const;
    const post = createPostJson(() => true);
    await createDeliver({ receiver: form, post, clock: systemClock })(ALERT);
    expect(receiver.messages).toEqual([
      '*FIRING: Target &lt;a&amp;b&gt; is down*\nIt failed.\n<https://example.com/#x|Runbook>',
    ]);
  });

  test('a threshold of a budget is announced with the name of the budget', () => {
    const line = {
      ...{ event: 'usage_threshold', meterId: 'budget/project/team', period: '2026-11' },
      ...{ projectId: 'team', keyId: 'key_a', threshold: 80 },
    };
    const context = { at: 1, id: 'x', runbookUrl: 'https://example.com' };
    expect(alertOfLine(line, context)).toMatchObject({
      subject: 'threshold/budget/project/team/2026-11/80',
      title: '80 % of the budget of project/team are used',
    });
  });
});
