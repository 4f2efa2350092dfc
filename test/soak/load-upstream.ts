import { randomBytes } from 'node:crypto';
import { systemClock } from '../../lambdas/support/clock.ts';
import { startEmbeddedUpstream } from '../../local/embedded-upstream/server.ts';
import { FAMILIES, type Family } from '../support/families.ts';

/** What the parent says first; later `count` asks how many calls are open. */
export type UpstreamOrder = { secret: string; paceMs: number };
export type UpstreamMessage =
  | { urls: Record<Family, string> }
  | { calls: { total: number; open: number } };

const tell = (message: UpstreamMessage) => process.send?.(message);

const serve = async ({ secret, paceMs }: UpstreamOrder) => {
  const { baseUrl, control } = await startEmbeddedUpstream({
    credentials: new Set([secret]),
    delayMs: paceMs,
    clock: systemClock,
    randomBytes,
  });
  const [chat, messages] = FAMILIES.map(baseUrl);
  if (chat === undefined || messages === undefined) throw new Error('a protocol is missing');
  tell({ urls: { chat, messages } });
  process.on('message', () => {
    const open = control.calls.filter(({ outcome }) => outcome === 'open').length;
    tell({ calls: { total: control.calls.length, open } });
  });
};

process.once('message', (order: UpstreamOrder) => void serve(order));
process.once('disconnect', () => process.exit());
