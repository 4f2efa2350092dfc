declare module 'dynalite' {
  import type { Server } from 'node:http';

  /** A server that speaks DynamoDB's wire; in memory unless `path` is given. */
  const dynalite: (options?: { createTableMs?: number; path?: string }) => Server;
  export = dynalite;
}
