/**
 * A provider as a process, whose streams tick: the model's name has the milliseconds between two events and those of a stream.
 * The text of each event is the time of its write, in tenths of a millisecond since the epoch.
 */
import { createServer } from 'node:http';
import { listen } from '../../local/loopback.ts';
import { tenths } from './tick.ts';

const eventOf = (rest: object) =>
  `data: ${JSON.stringify({ id: 'chatcmpl-1', created: 1, model: 'bench', object: 'chat.completion.chunk', ...rest })}\n\n`;
const chunkOf = (delta: object, finish: string | null = null) =>
  eventOf({ choices: [{ index: 0, delta, finish_reason: finish }] });

const FIRST = chunkOf({ role: 'assistant', content: '' });
const [BEFORE = '', AFTER = ''] = chunkOf({ content: '*' }).split('*');
const usage = { prompt_tokens: 100, completion_tokens: 200, total_tokens: 300 };
const LAST = `${chunkOf({}, 'stop')}${eventOf({ choices: [], usage })}data: [DONE]\n\n`;

const { url } = await listen(
  createServer({ noDelay: true }, (request, response) => {
    let body = '';
    request.setEncoding('latin1').on('data', (text) => {
      body += text;
    });
    request.on('end', () => {
      const [, every = '100', ms = '20000'] = /"tick\/(\d+)\/(\d+)"/.exec(body) ?? [];
      let left = Math.round(Number(ms) / Number(every));
      response.writeHead(200, { 'content-type': 'text/event-stream' }).write(FIRST);
      const ticking = setInterval(() => {
        left -= 1;
        response.write(BEFORE + tenths() + AFTER);
        if (left === 0) response.end(LAST);
      }, Number(every));
      response.on('close', () => clearInterval(ticking));
    });
  }),
);
process.send?.({ url });
