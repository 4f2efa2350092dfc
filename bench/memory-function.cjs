/** One fresh process of memory.ts: loads the bundle, answers a small event often, then a large one three times, prints the peaks. */
const { readFileSync } = require('node:fs');
const { Writable } = require('node:stream');

const [, , file, smallFile, largeFile] = process.argv;

globalThis.awslambda = {
  streamifyResponse: (handler) => handler,
  HttpResponseStream: { from: (stream) => stream },
};

/** The most memory that the process has had, in MB. */
const peak = () =>
  Number(/VmHWM:\s+(\d+)/.exec(readFileSync('/proc/self/status', 'utf8'))[1]) / 1_024;

const { handler } = require(file);

/** As the runtime does it: the text of the event is parsed, and kept until the response has ended. */
const send = async (eventFile) => {
  const text = readFileSync(eventFile, 'utf8');
  let bytes = 0;
  const body = new Writable({
    write: (chunk, _encoding, done) => {
      bytes += chunk.length;
      done();
    },
  });
  await handler(JSON.parse(text), body, { getRemainingTimeInMillis: () => 900_000 });
  if (bytes < 200) throw new Error('The router sent no response.');
};

const main = async () => {
  // Until the heap is as large as small requests make it.
  for (let count = 0; count < 200; count += 1) await send(smallFile);
  const small = peak();
  await send(largeFile);
  const large = peak();
  for (let count = 1; count < 3; count += 1) await send(largeFile);
  const sample = { small, large, third: peak() };
  process.stdout.write(`\n${JSON.stringify(sample)}\n`, () => process.exit(0));
};

main().catch((error) => {
  process.stderr.write(`${error.stack}\n`, () => process.exit(1));
});
