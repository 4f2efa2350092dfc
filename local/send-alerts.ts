import { type Alert, alertOfLine, retirementAlerts } from '../lambdas/alerts/alert.ts';
import { createDeliver, type Receiver } from '../lambdas/alerts/deliver.ts';
import type { LogFields } from '../lambdas/log-events.ts';
import { createDynamoAlertStore } from '../lambdas/stores/dynamo/alert-store.ts';
import { type Clock, DAY_MS } from '../lambdas/support/clock.ts';
import type { Log } from '../lambdas/support/log.ts';
import { createPostJson } from '../lambdas/webhooks/post.ts';
import { MessageRejected } from '../lambdas/webhooks/send.ts';
import { createDatabaseClient } from './database/database-client.ts';
import type { ItemDatabase } from './database/item-database.ts';
import { TABLE_NAMES } from './local-stores.ts';
import { openOutbox } from './outbox.ts';

type Parts = {
  database: ItemDatabase;
  receivers: Receiver[];
  models: readonly { id: string; retires?: string | undefined }[];
  runbookUrl: string;
  clock: Clock;
  onFailure(message: string): void;
};

/** Sends one after another, and drops what the receiver rejects for what it is. */
const createSend = (receiver: Receiver, { clock, onFailure }: Parts) => {
  // The operator's own machine: a receiver may listen on it.
  const deliver = createDeliver({ receiver, post: createPostJson(() => true), clock });
  return async (alerts: Alert[]): Promise<void> => {
    for (const alert of alerts) {
      await deliver(alert).catch((error: unknown) => {
        if (!(error instanceof MessageRejected)) throw error;
        onFailure(
          `The ${receiver.form} receiver rejected an alert, which is dropped: ${alert.title}`,
        );
      });
    }
  };
};

/**
 * Tells people what lines of the log say, through lists in the database: an alert that was written is sent, also after the end
 * of the process, with the same id if it is repeated.
 */
export const openAlerts = async (parts: Parts) => {
  const { database, receivers, models, runbookUrl, clock } = parts;
  const client = createDatabaseClient(database, clock);
  const store = createDynamoAlertStore({ client, tableName: TABLE_NAMES.history });
  const outboxes = await Promise.all(
    receivers.map((receiver) =>
      openOutbox<Alert>({
        ...parts,
        table: `alerts-${receiver.form}`,
        receiver: `the ${receiver.form} receiver`,
        send: createSend(receiver, parts),
      }),
    ),
  );
  /** Upstreams that have answered since they failed, or since the start. */
  const answering = new Set<string>();
  let adding = Promise.resolve();
  let count = 0;

  const add = (alert: Alert): void => {
    adding = adding.then(async () => {
      if (!(await store.claim(alert, clock.now()))) return;
      await Promise.all(outboxes.map((outbox) => outbox.add(alert)));
    });
  };

  /** A credential is good again when its upstream answers: its breaker belongs to the old one. */
  const noteAnswer = ({ outcome, upstream }: LogFields): void => {
    if (outcome !== 'finished' || upstream === undefined || answering.has(upstream)) return;
    answering.add(upstream);
    const subject = `credential/${upstream}`;
    add({
      ...{ id: `${subject}/${clock.now()}`, subject, state: 'resolved', at: clock.now() },
      ...{ title: `The credential of ${upstream} is accepted again`, text: 'It answers requests.' },
    });
  };

  const note = (event: string, fields: LogFields): void => {
    if (event === 'request') noteAnswer(fields);
    if (event === 'breaker_opened') answering.delete((fields.target ?? '').split('/')[0] ?? '');
    count += 1;
    const at = clock.now();
    const alert = alertOfLine({ event, ...fields }, { at, id: `${at}/${count}`, runbookUrl });
    if (alert) add(alert);
  };

  let cancel: (() => void) | undefined;
  const noteRetirements = (): void => {
    for (const alert of retirementAlerts(models, { at: clock.now(), runbookUrl })) add(alert);
    cancel = clock.after(DAY_MS, noteRetirements);
  };
  noteRetirements();

  return {
    /** The log, whose lines are looked at. */
    watch: (log: Log): Log => {
      const watched =
        (write: Log['info']): Log['info'] =>
        (event, fields) => {
          write(event, fields);
          note(event, fields);
        };
      return { info: watched(log.info), warn: watched(log.warn), error: watched(log.error) };
    },
    close: async (): Promise<void> => {
      cancel?.();
      await adding;
      await Promise.all(outboxes.map(({ close }) => close()));
      client.destroy();
    },
  };
};
