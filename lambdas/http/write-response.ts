import type { Writable } from 'node:stream';
import { constants, createGzip, gzipSync } from 'node:zlib';
import { encodePieces } from '../support/bytes.ts';
import type { HttpRequest } from './read-event.ts';
import type { PlatformResponse, Texts } from './stages.ts';

/** A shorter text fits into one packet anyway. */
const MIN_LENGTH = 1_024;

/** The weight of a coding in `accept-encoding`; 0 if it does not name it, NaN if it is not a number. */
const weightOf = (coding: string, header: string): number => {
  for (const item of header.split(',')) {
    const [name, ...parameters] = item.split(';').map((part) => part.trim());
    const weight = parameters.find((parameter) => parameter.startsWith('q='));
    if (name === coding) return weight === undefined ? 1 : Number(weight.slice('q='.length));
  }
  return 0;
};

/** Whether a client names a coding, and does not prefer a body without it; `*` alone is not taken for a promise to read it. */
export const acceptsCoding = (coding: 'br' | 'gzip', { headers }: HttpRequest): boolean => {
  const accepted = headers['accept-encoding']?.toLowerCase();
  if (!accepted?.includes(coding)) return false;
  const weight = weightOf(coding, accepted);
  return weight > 0 && weight >= weightOf('identity', accepted);
};

/** The response as its client takes it: every stream, and a text of some length, may be compressed. */
export const encoded = (request: HttpRequest, response: PlatformResponse): PlatformResponse => {
  const { headers, body } = response;
  if (typeof body === 'string' && body.length < MIN_LENGTH) return response;
  const vary = ['accept-encoding', headers.vary].filter(Boolean).join(', ');
  const encoding = acceptsCoding('gzip', request) ? { 'content-encoding': 'gzip', vary } : { vary };
  return { ...response, headers: { ...headers, ...encoding } };
};

/** Higher levels save a tenth of a stream's bytes, and take twice the CPU for a long text. */
const LEVEL = 1;

const gzipText = (text: string, level = LEVEL): Buffer => gzipSync(text, { level });

/**
 * A stream whose every write reaches `stream` at once as gzip. `Z_SYNC_FLUSH` ends each with an empty stored block, at which
 * every decoder delivers; at the shorter `Z_PARTIAL_FLUSH` Go's waits for more. If `stream` closes, so does this, and its
 * memory is released; what it has sent then lacks its end, as any response that was cut.
 */
const gzipInto = (stream: Writable): Writable => {
  const gzip = createGzip({ level: LEVEL, flush: constants.Z_SYNC_FLUSH });
  const release = () => gzip.destroy();
  if (stream.destroyed) release();
  stream.once('close', release);
  // Not with an error, which the platform's stream would throw: it ends the process.
  gzip.on('error', () => stream.destroy());
  gzip.pipe(stream);
  return gzip;
};

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
  const isCompressed = prelude.headers['content-encoding'] === 'gzip';
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
