import { createRandom } from '../../simulation/random.ts';
import { fc } from '../../support/seeds.ts';
import { type Call, KINDS, type Kind, type Rule } from './provider.ts';
import { type Key, type Seen, startWorld, type World } from './world.ts';

/**
 * What fails, for whom and for how long, and how it comes back. `share`: every call, half of them, those of one tenant,
 * or those of one key, which then sends `rate` requests a second beside the six of all others.
 */
export type Incident = {
  kind: Kind;
  seconds: number;
  projects: number;
  keys: number;
  processes: number;
  targets: number;
  hit: 'first' | 'all';
  share: 'all' | 'half' | 'tenant' | 'key';
  rate: number;
  back: 'full' | 'tenth' | 'flapping';
  seed: number;
};

/** Requests of all callers: six a second. */
const STEP_MS = 167;
const WARM_MS = 10_000;
const PHASE_MS = 5_000;
const FLAPPING_MS = 20_000;
/** A tenth of the ten calls a second that a target serves. */
const TENTH_MS = 10_000;
const TENTH = 1;

/** Kinds that a provider without capacity answers with. */
const OF_CAPACITY: Kind[] = ['500', '503', '529', '429'];
/** Kinds that a prompt or a credential's scope can cause. */
const OF_PROMPT: Kind[] = [
  ...(['500', '502', '429', '429 for 20 s', '401', '402', '403', '404'] as const),
  ...(['reset', 'cut', 'empty', 'hang'] as const),
];

const outages = (seconds: number[]) =>
  fc
    .record({
      kind: fc.constantFrom(...KINDS),
      seconds: fc.constantFrom(...seconds),
      projects: fc.constantFrom(1, 2, 20),
      keys: fc.constantFrom(1, 2),
      processes: fc.constantFrom(1, 2, 4),
      targets: fc.constantFrom(1, 2),
      hit: fc.constantFrom('first' as const, 'all' as const),
      share: fc.constantFrom('all' as const, 'all' as const, 'half' as const),
      rate: fc.constant(0),
      back: fc.constantFrom(
        'full' as const,
        'full' as const,
        'tenth' as const,
        'flapping' as const,
      ),
      seed: fc.nat(),
    })
    .filter(({ kind, share, back }) => {
      if (back === 'tenth' && !OF_CAPACITY.includes(kind)) return false;
      return kind !== 'refused' || (share === 'all' && back !== 'flapping');
    });

const attacks = (seconds: number[]) =>
  fc.record({
    kind: fc.constantFrom(...OF_PROMPT),
    seconds: fc.constantFrom(...seconds),
    projects: fc.constantFrom(2, 20),
    keys: fc.constant(2),
    processes: fc.constantFrom(1, 4),
    targets: fc.constantFrom(1, 2),
    hit: fc.constant('all' as const),
    share: fc.constantFrom('tenant' as const, 'key' as const),
    rate: fc.constantFrom(1, 3, 10),
    back: fc.constant('full' as const),
    seed: fc.nat(),
  });

/** Incidents of both kinds in turns: each law must hold where the other is drawn. */
export const drawIncidents = (count: number, longest: number): Incident[] => {
  const outage = outages([3, 12, 30, 75, 300, 600].filter((seconds) => seconds <= longest));
  const drawn = fc.sample(fc.tuple(outage, attacks([12, 30])), Math.ceil(count / 2));
  return drawn.flat().slice(0, count);
};

export const nameOf = (incident: Incident): string => {
  const { kind, seconds, projects, keys, processes, targets, hit, share, rate, back } = incident;
  const whose = { all: 'of all calls', half: 'of half of the calls' };
  const what =
    share === 'all' || share === 'half'
      ? `${kind} for ${seconds} s ${whose[share]} on ${hit} of ${targets} target(s), back ${back}`
      : `${kind} of ${rate} requests a second of one ${share}, ${targets} target(s)`;
  return `${what}; ${projects} project(s), ${keys} key(s) each, ${processes} process(es)`;
};

/** Whether the key's own requests are what fails. */
const isCulprit = ({ share }: Incident, name: string): boolean =>
  (share === 'tenant' && name.startsWith('0/')) || (share === 'key' && name === '0/0');

export const isAttack = ({ share }: Incident): boolean => share === 'tenant' || share === 'key';

export type Times = { outageAt: number; returnAt: number; repairedAt: number };

const timesOf = ({ seconds, back }: Incident): Times => {
  const returnAt = WARM_MS + seconds * 1_000;
  // A provider that returns with a tenth can be served from then on; one that flaps, when it stays.
  return {
    outageAt: WARM_MS,
    returnAt,
    repairedAt: back === 'flapping' ? returnAt + FLAPPING_MS : returnAt,
  };
};

/** Whether the target is down at that time. */
const isDown = (incident: Incident, { outageAt, returnAt }: Times, at: number): boolean => {
  if (at < outageAt) return false;
  if (at < returnAt) return true;
  const isFlapping = incident.back === 'flapping' && at < returnAt + FLAPPING_MS;
  return isFlapping && Math.floor((at - returnAt) / PHASE_MS) % 2 === 1;
};

export const isTenth = ({ back }: Incident, { returnAt }: Times, at: number): boolean =>
  back === 'tenth' && at >= returnAt && at < returnAt + TENTH_MS;

export const TENTH_A_SECOND = TENTH;

const ruleOf = (incident: Incident, times: Times): Rule => {
  const random = createRandom(incident.seed);
  const served = new Map<string, number>();
  const hasRoom = ({ target, at }: Call): boolean => {
    const second = `${target} ${Math.floor(at / 1_000)}`;
    const count = (served.get(second) ?? 0) + 1;
    served.set(second, count);
    return count <= TENTH;
  };
  const isHit = ({ target, owner }: Call): boolean => {
    if (isAttack(incident)) return isCulprit(incident, owner);
    return incident.hit === 'all' || target === 0;
  };
  const fails = (call: Call): boolean => {
    if (isTenth(incident, times, call.at)) return !hasRoom(call);
    if (!isDown(incident, times, call.at)) return false;
    return incident.share !== 'half' || random.chance(0.5);
  };
  return (call) => (isHit(call) && fails(call) ? incident.kind : undefined);
};

/** Six requests a second of any key but a culprit's, which sends its own beside them. */
const createTraffic = (incident: Incident, world: World) => {
  const random = createRandom(incident.seed + 1);
  const pick = (from: Key[]): Key | undefined => from[random.between(0, from.length - 1)];
  const process = () => random.between(0, incident.processes - 1);
  const innocent = world.callers.filter(({ name }) => !isCulprit(incident, name));
  const culprits = world.callers.filter(({ name }) => isCulprit(incident, name));
  let due = 0;
  return (isOn: boolean) => {
    const one = pick(innocent);
    if (one) world.ask(one, process());
    due += isOn ? (incident.rate * STEP_MS) / 1_000 : 0;
    for (; due >= 1; due -= 1) {
      const culprit = pick(culprits);
      if (culprit) world.ask(culprit, process());
    }
  };
};

export type Account = {
  times: Times;
  seen: Seen[];
  /** Those whose requests are not what fails. */
  others: Seen[];
  calls: Call[];
  /** Requests of every key in each process, three at once, a minute after the repair. */
  afterwards: Seen[];
};

/** Plays an incident, and returns what callers and providers saw. */
export const play = async (incident: Incident): Promise<Account> => {
  const world = await startWorld(incident);
  const times = timesOf(incident);
  const traffic = createTraffic(incident, world);
  world.providers.setRule(ruleOf(incident, times));
  const hits = incident.hit === 'all' ? [0, 1] : [0];
  const isRefusing = incident.kind === 'refused';
  while (world.now() < times.repairedAt + 15_000) {
    const isOut = isDown(incident, times, world.now());
    if (isRefusing) for (const hit of hits) await world.providers.accept(hit, !isOut);
    traffic(isAttack(incident) && isOut);
    await world.settle();
    await world.advance(STEP_MS);
  }
  const seen = world.seen.length;
  // Calls that hang end up to 30 s later.
  const aMinuteAfter = incident.kind === 'hang' ? 105 : 60;
  for (let second = 15; second < aMinuteAfter; second += 1) {
    traffic(false);
    await world.settle();
    await world.advance(1_000);
  }
  const before = world.seen.length;
  for (const caller of world.callers.slice(0, 4)) {
    for (let at = 0; at < 3 * incident.processes; at += 1)
      world.ask(caller, at % incident.processes);
  }
  await world.settle();
  const afterwards = world.seen.slice(before);
  await world.close();
  return {
    times,
    seen: world.seen.slice(0, seen),
    others: world.seen.slice(0, seen).filter(({ name }) => !isCulprit(incident, name)),
    calls: world.providers.calls,
    afterwards,
  };
};
