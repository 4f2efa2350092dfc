import type { Writable } from 'node:stream';
import { encodePieces } from '../support/bytes.ts';
import { gzipInto, gzipText, isGzip } from './content-encoding.ts';
import type { PlatformResponse, Texts } from './stages.ts';

const write = (stream: Writable, text: string): void => {
  stream.write(encodePieces([text]));
};

/** Resolves once the stream can take more, or is closed. */
const whenDrained = (stream: Writable): Promise<void> =>
  new Promise((resolve) => {
    const done = () => {
      stream.off('drain', done);
      stream.off('close', done);
      resolve();
    };
    stream.once('drain', done);
    stream.once('close', done);
  });

/**
 * Writes at the pace of the client. The generator is started in any case, since one that never ran skips its
 * `finally`, and is returned when the stream is closed; a pending `next` delays that.
 */
const writeTexts = async (stream: Writable, texts: Texts): Promise<void> => {
  const onClose = () => void texts.return();
  stream.once('close', onClose);
  for await (const text of texts) {
    if (stream.destroyed) break;
    write(stream, text);
    if (stream.writableNeedDrain) await whenDrained(stream);
  }
  stream.off('close', onClose);
};

/**
 * Ends `source`, which is the stream or is piped into it, and resolves once the stream has passed everything on, or is
 * closed: a disconnected client is not an error.
 */
const end = (stream: Writable, source: Writable): Promise<void> =>
  new Promise((resolve) => {
    if (stream.destroyed) resolve();
    stream.once('finish', resolve);
    stream.once('close', resolve);
    source.end();
  });

/**
 * Writes a response to the platform's stream. `Readable.from` and `pipeline` took a tenth of a short stream's CPU.
 * @param level of compression, of a response of one piece
 */
export const writeResponse = async (
  target: Writable,
  { body, after: _, ...prelude }: PlatformResponse,
  level?: number,
): Promise<void> => {
  const stream = awslambda.HttpResponseStream.from(target, prelude);
  const isCompressed = isGzip(prelude);
  if (typeof body === 'string') {
    // Sends the head, also before an empty body, which `end` would not.
    if (isCompressed) stream.write(gzipText(body, level));
    else write(stream, body);
    await end(stream, stream);
    return;
  }
  write(stream, '');
  const source = isCompressed ? gzipInto(stream) : stream;
  await writeTexts(source, body);
  await end(stream, source);
};
