import project from '../package.json' with { type: 'json' };

/** In place of program.ts in the package that npm pack makes. */
export const PROGRAM = {
  isPacked: true,
  version: project.version,
  /** Without options. */
  router: 'model-router',
  start: 'model-router',
  admin: 'model-router admin',
  connect: 'model-router connect',
  import: 'model-router import',
};
