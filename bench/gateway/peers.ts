/** Other gateways from npm, which the bench measures next to the router. They meter nothing as they are started here. */
import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { MODELS } from './cases.ts';
import type { Target } from './client.ts';
import { freePort, startServer } from './processes.ts';

/** Installed into a temporary folder, because the project depends on none of them. */
const VERSIONS = { '@musistudio/llms': '1.0.53', '@portkey-ai/gateway': '1.15.2' };

/** The server of llms is a class; this starts it on a port with the stand-in as its only provider. */
const LLMS = `
  const { default: Server } = require('@musistudio/llms');
  const [, , PORT, api_base_url, models] = process.argv;
  const providers = [{ name: 'bench', api_base_url, api_key: 'secret', models: JSON.parse(models) }];
  const initialConfig = { PORT, HOST: '127.0.0.1', providers };
  new Server({ logger: false, useJsonFile: false, initialConfig }).start();
`;

type Peer = () => Promise<Target & { pid: number }>;

/** Their stderr is discarded: they report each case that they cannot serve. */
const startPeer = (port: number, args: string[]) =>
  startServer({ url: `http://127.0.0.1:${port}`, args, env: { NODE_ENV: 'production' } }, 'ignore');

/** @throws Error if npm cannot install them, e.g. offline */
export const installPeers = (folder: string, upstream: string): Record<string, Peer> => {
  mkdirSync(folder);
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ dependencies: VERSIONS }));
  const flags = ['--ignore-scripts', '--no-audit', '--no-fund', '--silent'];
  execFileSync('npm', ['install', ...flags], { cwd: folder });
  return {
    llms: async () => {
      const port = await freePort();
      const file = join(folder, 'llms.cjs');
      writeFileSync(file, LLMS);
      const args = [file, String(port), `${upstream}/v1/chat/completions`, JSON.stringify(MODELS)];
      const server = await startPeer(port, args);
      return { ...server, headers: {}, modelPrefix: 'bench,' };
    },
    Portkey: async () => {
      const port = await freePort();
      const file = join(folder, 'node_modules/@portkey-ai/gateway/build/start-server.js');
      const args = [file, `--port=${port}`, '--headless'];
      const headers = {
        authorization: 'Bearer secret',
        'x-portkey-provider': 'openai',
        'x-portkey-custom-host': `${upstream}/v1`,
      };
      return { ...(await startPeer(port, args)), headers };
    },
  };
};
