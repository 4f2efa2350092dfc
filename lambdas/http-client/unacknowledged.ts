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
  const ends = [hexOf(localPort), hexOf(remotePort)];
  return table.split('\n').some((line) => {
    // Addresses, state (01: established), lengths of both queues, timer (01: of repeats), number of repeats.
    const [, local, remote, state, , timer, repeats = ''] = line.trim().split(/ +/);
    const isOurs = [local, remote].every((address, end) => address?.endsWith(`:${ends[end]}`));
    const isRepeating = state === '01' && timer?.startsWith('01:') === true;
    return isOurs && isRepeating && Number.parseInt(repeats, 16) >= REPEATS;
  });
};
