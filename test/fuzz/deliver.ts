import { IncomingMessage, ServerResponse } from 'node:http';
import { Duplex } from 'node:stream';
import type { HttpHandler } from '../../lambdas/http/create-http-handler.ts';
import { functionUrlEvent } from '../support/function-url-event.ts';
import { restApiEvent } from '../support/rest-api-event.ts';
import { type Answer, readHttp } from './read-http.ts';

/** A request as it stood on the wire. */
export type Request = {
  method: string;
  path: string;
  headers: [string, string][];
  body: Uint8Array;
};

export const FRONTS = { 'a Function URL': functionUrlEvent, 'a REST API': restApiEvent } as const;
export type Front = keyof typeof FRONTS;

/** A connection whose peer writes nothing and keeps all that it is sent. */
const createLine = () => {
  const written: Buffer[] = [];
  const line = new Duplex({
    // Without a server no response hears of a drain, and one over 64 KB would wait for it.
    writableHighWaterMark: 2 ** 30,
    read: () => undefined,
    write: (chunk: Buffer, _encoding, callback) => {
      written.push(chunk);
      callback();
    },
  });
  return { line, bytes: () => Buffer.concat(written) };
};

const incomingOf = ({ method, path, headers }: Request, line: Duplex): IncomingMessage => {
  // The message only passes its socket's address on, which this line has none of.
  const message: IncomingMessage = Reflect.construct(IncomingMessage, [line]);
  return Object.assign(message, {
    method,
    url: path,
    rawHeaders: headers.flat(),
    httpVersion: '1.1',
  });
};

/** Gives the handler the event of a front door and reads the one answer that it writes. */
export const deliver = async (
  handler: HttpHandler,
  front: Front,
  request: Request,
): Promise<Answer> => {
  const { line, bytes } = createLine();
  const incoming = incomingOf(request, line);
  const response = new ServerResponse(incoming);
  Reflect.apply(response.assignSocket, response, [line]);
  const event = FRONTS[front](incoming, Buffer.from(request.body), Date.now());
  await handler(event, response, {});
  const { answers, isCut } = readHttp(bytes());
  const [answer] = answers;
  if (!answer || answers.length > 1 || isCut) {
    throw new Error(`${answers.length} answers, ${isCut ? 'cut off' : 'whole'}`);
  }
  return answer;
};
