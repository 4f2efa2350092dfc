/** One fresh process of cold-start.ts: loads the bundle, sends the event 22 times, prints what it took. */
const { Writable } = require('node:stream');

const REQUESTS = 22;
const [, , file, eventText] = process.argv;
const cpu = () => {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
};

globalThis.awslambda = {
  streamifyResponse: (handler) => handler,
  HttpResponseStream: {
    from: (stream, { statusCode }) => {
      if (statusCode !== 200) throw new Error(`The router responded with ${statusCode}.`);
      return stream;
    },
  },
};

const measure = async (work) => {
  const started = { cpu: cpu(), wall: performance.now() };
  const end = await work();
  return { cpu: cpu() - started.cpu, wall: (end ?? performance.now()) - started.wall };
};

const main = async () => {
  let handler;
  const imported = await measure(async () => {
    handler = require(file).handler;
  });
  const request = async () => {
    let firstByteAt;
    const body = new Writable({
      write: (chunk, _encoding, done) => {
        // Middy writes an empty piece first, to send the head.
        if (chunk.length > 0) firstByteAt ??= performance.now();
        done();
      },
    });
    await handler(JSON.parse(eventText), body, { getRemainingTimeInMillis: () => 900_000 });
    return firstByteAt;
  };
  const first = await measure(request);
  const second = await measure(request);
  const rss = process.memoryUsage().rss / 2 ** 20;
  const further = await measure(async () => {
    for (let count = 2; count < REQUESTS; count += 1) await request();
  });
  const sample = {
    importCpu: imported.cpu,
    importWall: imported.wall,
    firstCpu: first.cpu,
    firstByteWall: first.wall,
    secondCpu: second.cpu,
    furtherCpu: further.cpu / (REQUESTS - 2),
    rss,
  };
  process.stdout.write(`\n${JSON.stringify(sample)}\n`, () => process.exit(0));
};

main().catch((error) => {
  process.stderr.write(`${error.stack}\n`, () => process.exit(1));
});
