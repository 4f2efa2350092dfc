// Plain JavaScript, loaded with --import: an older Node fails on the first TypeScript file otherwise.
const NEEDED = 24;

if (Number(process.versions.node.split('.')[0]) < NEEDED) {
  process.stderr.write(
    `Node ${NEEDED} or newer is needed; this is ${process.version}.\n` +
      '`npm ci && npm start` brings its own. If it did not, install scripts were switched off: run `npm rebuild node`.\n',
  );
  process.exit(1);
}
