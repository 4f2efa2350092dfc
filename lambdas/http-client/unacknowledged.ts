import { readFile } from 'node:fs/promises';
import type { Socket } from 'node:net';

/** Repeats of a packet by the system, the third 1.4 s after the packet on a usual network, without an acknowledgement. */
const REPEATS = 3;

const hexOf = (port = 0): string => port.toString(16).toUpperCase().padStart(4, '0');

/**
 * Whether the other end has not even acknowledged what was sent last: such a connection is dead, while one whose server
 * is slow is acknowledged at once. Only Linux shows that; false where it is not known.
 */
export const isUnacknowledged = async (socket: Socket): Promise<boolean> => {
  const { localPort, remotePort, remoteFamily } = socket;
  const file = `/proc/self/net/${remoteFamily === 'IPv6' ? 'tcp6' : 'tcp'}`;
  const table = await readFile(file, 'latin1').catch(() => '');
  // Addresses, state 01 (established), lengths of both queues, timer 01 (of repeats), and the number of repeats.
  const row = `:${hexOf(localPort)} \\w+:${hexOf(remotePort)} 01 \\w+:\\w+ 01:\\w+ (\\w+)`;
  const [, repeats = '0'] = new RegExp(row).exec(table) ?? [];
  return Number.parseInt(repeats, 16) >= REPEATS;
};
