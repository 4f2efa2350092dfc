declare module 'dynalite' {
  import type { Server } from 'node:http';

  /** A server with DynamoDB's HTTP API; in memory unless `path` is set. */
  const dynalite: (options?: { createTableMs?: number; path?: string }) => Server;
  export = dynalite;
}
