import { type Delivered, readEvent } from '../http/read-event.ts';
import type { PlatformResponse } from '../http/stages.ts';
import { acceptsCoding } from '../http/write-response.ts';
import { STREAMED_FILES } from './console.ts';
import { createConsoleHandler } from './create-console-handler.ts';

/** A response whose body is sent as it is: brotli, or text to a client that does not accept it. */
export type FileResponse = Omit<PlatformResponse, 'body'> & { body: string | Buffer };

/** Reads script and style of the console at the paths that are streamed. Every browser that runs the page accepts brotli. */
export const createReadStreamedFile = (options: Parameters<typeof createConsoleHandler>[0]) => {
  const serve = createConsoleHandler(options);
  const { readFiles } = options.console;
  return async (event: Delivered, context: object): Promise<FileResponse> => {
    const request = 'source' in event ? event : readEvent(event);
    const response = await serve(event, context);
    const body = String(response.body);
    if (response.statusCode !== 200) return { ...response, body };
    const headers = { ...response.headers, vary: 'accept-encoding' };
    const { brotli } = readFiles().assets[request.path.slice(STREAMED_FILES.length)] ?? {};
    if (brotli === undefined || !acceptsCoding('br', request))
      return { ...response, headers, body };
    return {
      ...response,
      headers: { ...headers, 'content-encoding': 'br' },
      body: Buffer.from(brotli, 'base64'),
    };
  };
};
