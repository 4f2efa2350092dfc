import project from '../package.json' with { type: 'json' };

/** How the commands are called in a checkout; program-packed.ts replaces it in the package that npm pack makes. */
export const PROGRAM = {
  isPacked: false,
  version: project.version,
  /** Without options. */
  router: 'npm start',
  start: 'npm start --',
  admin: 'npm run -s admin --',
  connect: 'npm run -s connect --',
  import: 'npm run -s import --',
};
