/** Who is measured: D, the router with each store, and other gateways. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { bundle, WEB_BUNDLE } from '../../lib/bundle/bundle.ts';
import { bundlerOf } from '../checkout.ts';
import type { Target } from './client.ts';
import { installPeers } from './peers.ts';
import { start, startRouter, tie } from './processes.ts';
import { environmentOn, modelsAt, startStores } from './setting.ts';

/** Clients, upstream and stores share a core, and the measured process has the other. */
const OTHERS_CORE = 0;
const MEASURED_CORE = 1;

const INSTANT = 'instant store';
const bearer = (key: string) => ({ authorization: `Bearer ${key}` });

export type Measured = Target & { pid: number };
type Launch = () => Promise<Measured>;
export type Party = { name: string; launch: Launch; running: Measured };
/** `d` is the denominator. */
export type Parties = { d: Party; routers: Party[]; peers: Party[] };

const partyOf = async (name: string, launch: Launch): Promise<Party> => {
  const tied = async () => {
    const started = await launch();
    tie(started.pid, MEASURED_CORE);
    return started;
  };
  return { name, launch: tied, running: await tied() };
};

const partiesOf = async (launches: Record<string, Launch>): Promise<Party[]> => {
  const parties: Party[] = [];
  for (const [name, launch] of Object.entries(launches)) parties.push(await partyOf(name, launch));
  return parties;
};

type Stores = Awaited<ReturnType<typeof startStores>>;
type Setting = Stores & { folder: string; catalog: string; revision: string | undefined };

/** What starts the router with each store, that of an earlier commit, and D with the writes of a metered request. */
const routersOf = async (
  pipeTo: (dynamo: string) => Launch,
  { folder, catalog, revision, key, stores }: Setting,
): Promise<Record<string, Launch>> => {
  const { file } = bundle({ ...WEB_BUNDLE, outdir: folder, catalog });
  const apart = bundle({
    ...{ ...WEB_BUNDLE, entry: 'bench/gateway/store-apart.ts' },
    ...{ outdir: join(folder, 'apart'), catalog },
  });
  const headers = bearer(key);
  const launches: Record<string, Launch> = {
    'store apart': async () => ({
      ...(await startRouter(apart.file, { BENCH_KEY: key })),
      headers,
    }),
  };
  for (const [name, store] of Object.entries(stores)) {
    tie(store.pid, OTHERS_CORE);
    launches[name] = async () => ({ ...(await startRouter(file, environmentOn(store))), headers });
  }
  launches['D with writes'] = pipeTo(stores[INSTANT].dynamo);
  const instant = environmentOn(stores[INSTANT]);
  if (revision !== undefined) {
    const earlier = await bundlerOf(revision, join(folder, 'sources'));
    const { file: other } = earlier.bundle({
      ...WEB_BUNDLE,
      outdir: join(folder, 'earlier'),
      catalog,
    });
    launches[revision.slice(0, 10)] = async () => ({
      ...(await startRouter(other, instant)),
      headers,
    });
  }
  return launches;
};

const peersOf = (folder: string, upstream: string): Record<string, Launch> => {
  try {
    return installPeers(join(folder, 'peers'), upstream);
  } catch {
    console.log('Other gateways are left out, because npm could not install them.');
    return {};
  }
};

/** Starts all of them, and the provider that they call. */
export const startParties = async (
  folder: string,
  revision?: string,
): Promise<Parties & { upstream: Target; budgeted: Target }> => {
  tie(process.pid, OTHERS_CORE);
  const upstream = await start<{ url: string }>('upstream.ts');
  tie(upstream.pid, OTHERS_CORE);
  const catalog = join(folder, 'models.json');
  writeFileSync(catalog, JSON.stringify(modelsAt(upstream.url)));
  const pipeTo = (store?: string) => async () => ({
    ...(await start<{ url: string }>('pipe.ts', upstream.url, ...(store ? [store] : []))),
    headers: {},
  });
  const stores = await startStores();
  const launches = await routersOf(pipeTo, { folder, catalog, revision, ...stores });
  const routers = await partiesOf(launches);
  const url = routers.find(({ name }) => name === INSTANT)?.running.url ?? '';
  return {
    d: await partyOf('D', pipeTo()),
    routers,
    budgeted: { url, headers: bearer(stores.budgeted) },
    peers: await partiesOf(peersOf(folder, upstream.url)),
    upstream: { url: upstream.url, headers: {} },
  };
};
