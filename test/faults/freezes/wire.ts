import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';

/** What happened to the open connections during a freeze. */
export type Cut =
  /** No packet of them arrives any more, in either direction. */
  | 'silence'
  /** The process finds them reset. */
  | 'reset'
  /** They seem open, and their next packet is answered with a reset. */
  | 'reset when used';
export const CUTS: Cut[] = ['silence', 'reset', 'reset when used'];

export type Wire = {
  url: string;
  /** Ends the connections that are open now; later ones work. */
  cut(how: Cut): void;
  close(): Promise<void>;
};

/** The network between a client and the server at `target`. */
export const startWire = async (target: string): Promise<Wire> => {
  const open = new Map<Socket, Socket>();
  const server = createServer((near) => {
    const far = connect(Number(new URL(target).port), '127.0.0.1');
    open.set(near, far);
    const end = () => {
      open.delete(near);
      near.destroy();
      far.destroy();
    };
    near.setNoDelay(true).on('error', end).on('close', end).pipe(far);
    far.setNoDelay(true).on('error', end).pipe(near);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  const port = typeof address === 'object' ? address?.port : undefined;

  const cutOne = (near: Socket, far: Socket, how: Cut): void => {
    near.unpipe(far);
    far.unpipe(near);
    far.removeAllListeners('close').destroy();
    if (how === 'reset') near.resetAndDestroy();
    // Reads on, so that the client finds room for its request.
    else near.on('data', () => how === 'reset when used' && near.resetAndDestroy()).resume();
  };
  return {
    url: `http://127.0.0.1:${port}`,
    cut: (how) => {
      for (const [near, far] of open) cutOne(near, far, how);
      if (how === 'reset') open.clear();
    },
    close: async () => {
      for (const [near, far] of open) {
        near.destroy();
        far.destroy();
      }
      server.close();
      await once(server, 'close');
    },
  };
};
