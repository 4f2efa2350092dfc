import { randomBytes } from 'node:crypto';
import { createReadStreamedFile } from './admin/read-streamed-file.ts';
import { consoleEnv, readEnv } from './env.ts';
import type { HttpEvent } from './http/read-event.ts';
import { readConsole } from './read-console.ts';
import { systemClock } from './support/clock.ts';
import { createLog } from './support/log.ts';

const console = readConsole(readEnv(consoleEnv(), process.env));
if (!console) throw new Error('The function has no console.');

const readFile = createReadStreamedFile({
  console,
  log: createLog((line) => process.stdout.write(line)),
  clock: systemClock,
  randomBytes,
});

/** Streams script and style of the console: only so does the REST API pass bytes that are not text. */
export const handler = awslambda.streamifyResponse(
  async (event: HttpEvent, target, context: object): Promise<void> => {
    const { body, statusCode, headers } = await readFile(event, context);
    const stream = awslambda.HttpResponseStream.from(target, { statusCode, headers });
    await new Promise<void>((resolve) => {
      stream.once('close', resolve);
      // Sends the head, which `end` alone would not.
      stream.write(body);
      stream.end(resolve);
    });
  },
);
