import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { listen } from '../../local/loopback.ts';

export type EmbeddedBucket = { endpoint: string; close(): Promise<void> };

/** A temporary folder that exists from the first object on. */
const createFolder = () => {
  let made: Promise<string> | undefined;
  return {
    path: () => {
      made ??= mkdtemp(join(tmpdir(), 'model-router-'));
      return made;
    },
    remove: async () => {
      if (made) await rm(await made, { recursive: true, force: true });
    },
  };
};

/** The file of an object: its name has no separator, so that it stays in the folder. */
const fileOf = (folder: string, { url = '' }: IncomingMessage) =>
  join(folder, encodeURIComponent(url.slice(1)));

const reply = (response: ServerResponse, status: number, body: Buffer | string = '') => {
  response.writeHead(status, { 'content-length': Buffer.byteLength(body) }).end(body);
};

const NO_SUCH_KEY = '<?xml version="1.0"?><Error><Code>NoSuchKey</Code></Error>';

/**
 * Starts an S3 with the three operations that the router uses, PutObject, GetObject and DeleteObject. Objects are files of a
 * temporary folder, which `close` removes.
 */
export const startEmbeddedBucket = async (): Promise<EmbeddedBucket> => {
  const folder = createFolder();
  const handle = async (incoming: IncomingMessage, response: ServerResponse) => {
    const file = fileOf(await folder.path(), incoming);
    if (incoming.method === 'PUT') {
      await writeFile(file, await buffer(incoming));
      reply(response, 200);
    } else if (incoming.method === 'DELETE') {
      await rm(file, { force: true });
      reply(response, 204);
    } else {
      const body = await readFile(file).catch(() => undefined);
      reply(response, body ? 200 : 404, body ?? NO_SUCH_KEY);
    }
  };
  const server = createServer((incoming, response) => {
    handle(incoming, response).catch(() => reply(response, 500));
  });
  const { url, close } = await listen(server);
  return {
    endpoint: url,
    close: async () => {
      await close();
      await folder.remove();
    },
  };
};
