// Plain JavaScript, loaded with --import: an older Node would fail on the first TypeScript file.
const MINIMUM = 24;

if (Number(process.versions.node.split('.')[0]) < MINIMUM) {
  process.stderr.write(
    `Node ${MINIMUM} or newer is required; this is ${process.version}.\n` +
      '`npm ci && npm start` installs and uses Node 24. If install scripts are disabled, ' +
      'run `npm rebuild node` first.\n',
  );
  process.exit(1);
}
