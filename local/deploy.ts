import { spawn } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import * as z from 'zod';
import { PROGRAM } from '#program';
import { UsageError } from './usage-error.ts';

const USAGE = `Usage: model-router deploy [--checkout DIR] [--synth] [options of cdk]

Deploys the router with CDK, from a checkout of this version (${PROGRAM.version}): the package leaves out CDK and the sources that it
bundles for Lambda. What follows is given to \`cdk deploy\` as it is, e.g. -c stage=prod --require-approval never.

  --checkout DIR   the checkout, after npm ci (default: this folder)
  --catalog FILE   the same as -c catalog=FILE
  --synth          write the template to cdk.out (--output DIR), without AWS credentials, instead of deploying it
  --help           print this text`;

const Manifest = z.object({ name: z.literal('model-router'), version: z.string() });

const versionIn = (folder: string): string | undefined => {
  try {
    return Manifest.parse(JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))).version;
  } catch {
    return undefined;
  }
};

/** @throws UsageError that says what is missing, and what to do */
const checkCheckout = (checkout: string, args: string[]): void => {
  const again = `${PROGRAM.start} deploy --checkout DIR ${args.join(' ')}`.trim();
  const version = existsSync(join(checkout, 'bin', 'router.ts')) ? versionIn(checkout) : undefined;
  if (version === undefined) {
    throw new UsageError(
      `${checkout} is not a checkout of the router: this package leaves out CDK, and the sources that it bundles for Lambda.
Get the sources of version ${PROGRAM.version} (git clone, git checkout v${PROGRAM.version}), run npm ci there, and then

  ${again}

or there: npx cdk deploy ${args.join(' ')}`,
    );
  }
  if (version !== PROGRAM.version) {
    throw new UsageError(
      `${checkout} has version ${version}, this is ${PROGRAM.version}: git checkout v${PROGRAM.version}, and npm ci.`,
    );
  }
  const packages = ['aws-cdk', 'aws-cdk-lib'].map((name) => join(checkout, 'node_modules', name));
  if (packages.every((path) => existsSync(path))) return;
  throw new UsageError(`${checkout} has no CDK: run npm ci there.`);
};

const NO_CREDENTIALS =
  'A deployment needs AWS credentials, and there are none. Sign in (aws sso login; --profile NAME of the AWS CLI works), or export AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and, of temporary credentials, AWS_SESSION_TOKEN. --synth needs none.';

const checkCredentials = async (profile: string | undefined): Promise<void> => {
  const { defaultProvider } = await import('@aws-sdk/credential-provider-node');
  await defaultProvider(profile === undefined ? {} : { profile })().catch((cause: unknown) => {
    throw new UsageError(NO_CREDENTIALS, { cause });
  });
};

/** CDK runs in the checkout: the path of a catalog is one of the folder that the command is called in. */
const withCatalogPath = (argument: string): string => {
  const [, option = '', path] = /^((?:--context=)?catalog=)(.+)$/.exec(argument) ?? [];
  return path === undefined ? argument : `${option}${resolve(path)}`;
};

const OWN = {
  checkout: { type: 'string' },
  catalog: { type: 'string' },
  synth: { type: 'boolean' },
  help: { type: 'boolean' },
  profile: { type: 'string' },
} as const;

/** Options of this command, and the arguments that are CDK's, in their order. */
const read = (args: string[]) => {
  const { values, tokens } = parseArgs({ args, options: OWN, strict: false, tokens: true });
  const ours = new Set(
    tokens.flatMap((token) => {
      if (token.kind !== 'option' || !(token.name in OWN) || token.name === 'profile') return [];
      return token.inlineValue === false ? [token.index, token.index + 1] : [token.index];
    }),
  );
  const textOf = (value: unknown) => (typeof value === 'string' ? value : undefined);
  const catalog = textOf(values.catalog);
  const others = args.filter((_, index) => !ours.has(index));
  return {
    checkout: resolve(textOf(values.checkout) ?? '.'),
    isSynth: values.synth === true,
    isHelp: values.help === true,
    profile: textOf(values.profile),
    cdkArgs: [...others, ...(catalog === undefined ? [] : ['-c', `catalog=${catalog}`])].map(
      withCatalogPath,
    ),
  };
};

/** Hands over to CDK. Resolves with its exit code. @throws UsageError that says what is missing */
const deploy = async (args: string[]): Promise<number> => {
  const { checkout, isSynth, isHelp, profile, cdkArgs } = read(args);
  if (isHelp) {
    process.stdout.write(`${USAGE}\n`);
    return 0;
  }
  checkCheckout(checkout, cdkArgs);
  if (!isSynth) await checkCredentials(profile);
  const command = isSynth ? ['synth', '--quiet', '--no-notices'] : ['deploy'];
  // npx puts the checkout's Node in front: CDK starts the app with the first one.
  const child = spawn('npx', ['--no-install', 'cdk', ...command, ...cdkArgs], {
    cwd: checkout,
    stdio: 'inherit',
  });
  return new Promise((done, fail) => {
    child.once('error', fail);
    child.once('exit', (code) => done(code ?? 1));
  });
};

deploy(process.argv.slice(2)).then(
  (code) => {
    process.exitCode = code;
  },
  (error: unknown) => {
    process.exitCode = 2;
    if (!(error instanceof UsageError)) throw error;
    process.stderr.write(`${error.message}\n`);
  },
);
