import type { OwedEvent, Webhook, WebhookStore } from '../stores/webhook-store.ts';
import { sha256Of } from '../support/bytes.ts';
import type { Clock } from '../support/clock.ts';
import type { Log } from '../support/log.ts';
import { createPostJson, isInner } from './post.ts';
import { createSend } from './send.ts';

/** How a response has ended, and when, in milliseconds; older items lack the latter. */
export type End = { status: unknown; endedAt: number | undefined };

export type EventParts = {
  webhooks: WebhookStore;
  /** Undefined of a response that is deleted or expired. @throws ApiError 503 */
  readEnd(event: OwedEvent): Promise<End | 'running' | undefined>;
  /** Whether this machine and its network get events. */
  mayReachInner: boolean;
  clock: Clock;
  log: Log;
};

/** As OpenAI's; each is sent at least once, and its `webhook-id` and `id` are the same each time. */
const messageOf = (webhook: Webhook, { responseId }: OwedEvent, end: End, now: number) => {
  const { url, secret, previous } = webhook;
  const type = `response.${end.status}`;
  const id = sha256Of(`${responseId}\n${type}`).slice(0, 32);
  const created_at = Math.floor((end.endedAt ?? now) / 1_000);
  const event = { object: 'event', id: `evt_${id}`, type, created_at };
  const older = previous && previous.until > now ? [previous.secret] : [];
  return {
    url,
    body: JSON.stringify({ ...event, data: { id: responseId } }),
    signed: { id: `wh_${id}`, secrets: [secret, ...older] },
  };
};

/** Events of background responses, for projects that have an address. */
export const createEvents = ({ webhooks, readEnd, mayReachInner, clock, log }: EventParts) => {
  const post = createPostJson((address) => mayReachInner || !isInner(address));
  const send = createSend({ post, clock });

  /** False if its receiver did not take it. @throws StoreUnavailable, ApiError 503 */
  const deliver = async (event: OwedEvent, tries?: number): Promise<boolean> => {
    const end = await readEnd(event);
    if (end === 'running') return true;
    const webhook = end && (await webhooks.find(event.projectId));
    if (webhook) {
      try {
        await send(messageOf(webhook, event, end, clock.now()), tries);
      } catch {
        const { projectId, responseId } = event;
        log.warn('webhook_failed', { projectId, requestId: responseId.replace(/^resp/, 'req') });
        return false;
      }
    }
    await webhooks.settle(event);
    return true;
  };

  /** One try each, until the receiver of a project takes none. */
  const repeatAll = async (events: OwedEvent[]): Promise<void> => {
    for (const event of events) if (!(await deliver(event, 1))) return;
  };

  return {
    /** Before the response begins, so that its event outlives the process; false if its project has no address. */
    owe: async (event: OwedEvent): Promise<boolean> => {
      if (!(await webhooks.find(event.projectId))) return false;
      await webhooks.owe(event, clock.now());
      return true;
    },
    /** Up to three tries, in 5 seconds and their timeouts; none of a response that was deleted. Never rejects: what is owed is repeated. */
    deliver: async (event: OwedEvent): Promise<void> => {
      await deliver(event).catch(() => false);
    },
    /** Sends what is owed since a process died or a receiver was away. @throws StoreUnavailable */
    repeat: async (): Promise<void> => {
      const owed = await webhooks.listOwed(clock.now());
      const byProject = Map.groupBy(owed, ({ projectId }) => projectId);
      await Promise.all([...byProject.values()].map(repeatAll));
    },
  };
};

export type Events = ReturnType<typeof createEvents>;
