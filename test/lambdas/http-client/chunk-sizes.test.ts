import { expect, onTestFinished, test } from 'vitest';
import { createHttpConnections } from '../../../lambdas/http-client/connections.ts';
import { createManualClock } from '../../support/manual-clock.ts';
import { bodyOf, startRawServer } from './raw-server.ts';

const HEAD = 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n';

/** The body of a response whose only chunk has the size that is written so. */
const read = async (size: string): Promise<string> => {
  const server = await startRawServer((socket) => {
    socket.write(`${HEAD}${size}\r\nok\r\n0\r\n\r\n`);
  });
  const clock = createManualClock(0);
  const connections = createHttpConnections(server.origin, { clock, connectMs: 3_000 });
  onTestFinished(connections.destroy);
  return bodyOf(connections);
};

test.each(['2', '0002', `${'0'.repeat(100)}2`, '2;name=value'])(
  'a chunk whose size is written as %s is read',
  async (size) => {
    expect(await read(size)).toBe('ok');
  },
);

test.each(['f'.repeat(14), `1${'0'.repeat(16)}2`, '', '-2', '2 2', '0x2', 'g'])(
  'a chunk whose size is written as "%s" is not HTTP',
  async (size) => {
    await expect(read(size)).rejects.toMatchObject({ code: 'NOT_HTTP' });
  },
);
