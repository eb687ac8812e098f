// One fault under load: what clients saw, what the provider sent and what is in the books must agree whatever failed, and all be as it
// was soon after.

import { bounds } from '../../../src/config/config.ts';
import { runOn } from '../../support/start-postgres.ts';
import { type Load, runClients, type Sighting, sendOrder } from '../crash/clients.ts';
import { type AllNodes, callAll } from './all-nodes.ts';
import type { NodesFault } from './faults.ts';
import type { ServiceNode } from './start-nodes.ts';
import { beginRound, compareWorld, countHolds, type Outcome, readFailures, type World } from './trial.ts';

const WARM_MS = 4_500; // so that there are streams that have lasted
const AFTER_MS = 2_500;
const RECOVERED_MS_MAX = 30_000;
const LEASES_MS_MAX = bounds.leaseMs + 2 * bounds.leaseRenewMs + 10_000; // lapsed, seen by another, on a busy machine
const LOOK_MS = 100;
const ENDURING_PER_NODE = 3;
const ENDURING_PAUSE_MS = 100;
const SLOW_CLIENTS = 18;
const SLOW_ANSWER_MS = 3_000;

/** Streams to one node that began before the fault and last until it is over. */
interface Enduring {
  node: ServiceNode;
  mark: number;
}

interface Times {
  faultMs: number;
  healedMs: number;
}

export async function runFaultRound(world: World, fault: NodesFault): Promise<Outcome> {
  const { nodes } = world;
  const calls = callAll(nodes);
  const startedMs = Date.now();
  let isOver = false;
  const load: Load = { ...beginRound(world, calls.turnpike, () => isOver), goesOn: true };
  const enduring: Enduring[] = [];
  const loading = Promise.all([
    runClients(load),
    ...Array.from({ length: SLOW_CLIENTS }, () => sendSlow(load)),
    sendEnduring(load, calls, world, fault, enduring),
  ]);
  await Bun.sleep(WARM_MS);
  const befallen = fault.befalls(world);
  const cutAtMs = Date.now();
  const times: Times = { faultMs: performance.now(), healedMs: 0 };
  await fault.begin(world);
  if (fault.isOfNode) for (const node of befallen) calls.passedOver.add(node);
  const givenBack = fault.isOfNode ? watchGoneHolds(world) : Promise.resolve(null);
  await Bun.sleep(fault.lastsMs);
  await fault.end(world);
  times.healedMs = performance.now();
  calls.passedOver.clear();
  const faults = await awaitRecovery(calls, befallen, times);
  await Bun.sleep(AFTER_MS);
  isOver = true;
  await loading;
  faults.push(...(await awaitNoHolds(world)));
  const compared = await compareWorld(world, startedMs, cutAtMs, fault.isOfNode);
  faults.push(
    ...compared.faults,
    ...findFalseSuccess(world, load),
    ...judgeAnswers(load, calls, fault, befallen, fault.kills(world), times),
  );
  faults.push(...judgeEnduring(load, fault, enduring, befallen));
  if (faults.length > 0) faults.push(...readFailures(world, startedMs));
  const { figures } = compared;
  const lines = [
    `${fault.name}: ${figures.requests} messages, ${figures.acknowledged} acknowledged, ${figures.billed} of these billed; ` +
      `cut: ${figures.checkpointed} billed to a checkpoint, ${figures.uncharged} for nothing; ` +
      `answers without 200: ${describeRefusals(load.seen.sightings)}`,
    `${fault.name}: served again after ${describeRecovery(calls, befallen, times)}${describeGiven(await givenBack)}; ` +
      describeEnduring(load, enduring, befallen),
  ];
  return { lines, faults: faults.map((text) => `${fault.name}: ${text}`) };
}

/** Whole messages that take their time: some are always under way, and nothing is asked of the ledger between their beginnings and their ends. */
async function sendSlow(load: Load): Promise<void> {
  const secret = load.callers.secrets[0] as string;
  while (!load.isOver()) {
    const order = { deltas: 0, tokensPerDelta: 5, pauseMs: SLOW_ANSWER_MS * (0.5 + load.random()) };
    await sendOrder(load, secret, false, order).catch(() => Bun.sleep(LOOK_MS));
  }
}

async function sendEnduring(
  load: Load,
  calls: AllNodes,
  { nodes }: World,
  fault: NodesFault,
  enduring: Enduring[],
): Promise<void> {
  const lastMs = WARM_MS + fault.lastsMs + AFTER_MS;
  const order = { deltas: Math.ceil(lastMs / ENDURING_PAUSE_MS), tokensPerDelta: 2, pauseMs: ENDURING_PAUSE_MS };
  const secret = load.callers.secrets[0] as string;
  await Promise.all(
    nodes.all.flatMap((node) =>
      Array.from({ length: ENDURING_PER_NODE }, async () => {
        const mark = load.nextMark();
        enduring.push({ node, mark });
        const own = { ...load, turnpike: calls.only(node), nextMark: () => mark };
        await sendOrder(own, secret, true, order).catch(() => {}); // what was seen of it is written down
      }),
    ),
  );
}

/** How long it took until what nodes held that renew their lease no more was given back; null when they held nothing. */
async function watchGoneHolds({ nodes }: World): Promise<number | null> {
  const startedMs = performance.now();
  let lastMs: number | null = null;
  // A node that has not renewed for longer than a lease is down.
  const unrenewedMs = bounds.leaseMs - bounds.leaseRenewMs - 1_500;
  while (performance.now() - startedMs < LEASES_MS_MAX) {
    const [row] = await runOn(
      nodes.databaseUrl,
      `SELECT count(*) FILTER (WHERE l.node IS NULL OR l.epoch <> h.epoch
          OR l.expires_at_ms < extract(epoch FROM clock_timestamp()) * 1000 + ${unrenewedMs}) AS gone
        FROM holds h LEFT JOIN leases l USING (node)`,
    );
    const isAny = Number(row?.['gone']) > 0;
    if (isAny) lastMs = null;
    else lastMs ??= performance.now() - startedMs;
    if (lastMs !== null && performance.now() - startedMs > bounds.leaseMs) break;
    await Bun.sleep(LOOK_MS);
  }
  return lastMs;
}

async function awaitRecovery(
  { asked }: AllNodes,
  befallen: readonly ServiceNode[],
  { healedMs }: Times,
): Promise<string[]> {
  const isServing = (one: ServiceNode) =>
    asked.some(({ node, sentMs, status }) => node === one && sentMs > healedMs && status === 200);
  while (performance.now() - healedMs < RECOVERED_MS_MAX) {
    if (befallen.every(isServing)) return [];
    await Bun.sleep(LOOK_MS);
  }
  return [`not served again within ${RECOVERED_MS_MAX} ms`];
}

export async function awaitNoHolds(world: World): Promise<string[]> {
  const startedMs = performance.now();
  for (;;) {
    const holds = await countHolds(world);
    if (holds === 0) return [];
    if (performance.now() - startedMs > LEASES_MS_MAX) return [`leaked: ${holds} holds after the lease`];
    await Bun.sleep(LOOK_MS);
  }
}

/** A message that other nodes ended, as its correction shows, must not have been reported as successful. */
function findFalseSuccess({ books }: World, { seen }: Load): string[] {
  const entries = [...books.entries.values()].flatMap((ofAccount) => [...ofAccount.values()]);
  const corrected = new Set(entries.flatMap(({ kind, reference }) => (kind === 'correction' ? [reference] : [])));
  return seen.sightings
    .filter(({ isAcknowledged, requestId }) => isAcknowledged && corrected.has(requestId))
    .map((sighting) => `a success though others had ended it: ${JSON.stringify(sighting)}`);
}

/** Clients may get only store_unavailable, and only from nodes whose store is unavailable. */
function judgeAnswers(
  { seen }: Load,
  { asked }: AllNodes,
  fault: NodesFault,
  befallen: readonly ServiceNode[],
  killed: readonly ServiceNode[],
  { faultMs }: Times,
): string[] {
  const faults: string[] = [];
  const byId = new Map(seen.sightings.map((sighting) => [sighting.requestId, sighting]));
  for (const { node, status, requestId, sentMs } of asked) {
    const isBefallen = befallen.includes(node);
    if (status === null && !killed.includes(node) && !wasLeft(seen.sightings, requestId))
      faults.push(
        `no answer of node ${node.port} to a message sent ${Math.round(sentMs - faultMs)} ms after the fault`,
      );
    const sighting = byId.get(requestId);
    if (status === null || status === 200 || sighting === undefined) continue;
    const isAway = (status === 503 && sighting.error === 'store_unavailable') || status === 529;
    const isPoor = status === 400 && sighting.error === 'insufficient_user_quota';
    const isLate = fault.isOfNode && status === 500 && sighting.error === 'internal'; // others had ended it
    if (!isPoor && !(isBefallen && (isAway || isLate)))
      faults.push(
        `node ${node.port} answered ${status} ${sighting.error} ${Math.round(sentMs - faultMs)} ms after the fault`,
      );
  }
  return faults;
}

/** Who leaves before there is an answer sees none. */
export function wasLeft(sightings: readonly Sighting[], requestId: string | null): boolean {
  return requestId === null && sightings.some(({ hasLeft, status }) => hasLeft && status === null);
}

/** Streams go on through what befalls the store, and on every node that nothing befalls. */
function judgeEnduring(
  { seen }: Load,
  fault: NodesFault,
  enduring: readonly Enduring[],
  befallen: readonly ServiceNode[],
): string[] {
  return enduring.flatMap(({ node, mark }) => {
    const sighting = seen.sightings.find((one) => one.mark === mark);
    if (sighting?.isAcknowledged || (befallen.includes(node) && mayCut(fault))) return [];
    return [`a stream was cut: ${JSON.stringify(sighting)}`];
  });
}

/** Its lease has lapsed, so that others have ended what it holds. */
function mayCut({ isOfNode, isOfStore, lastsMs }: NodesFault): boolean {
  return isOfNode || (!isOfStore && lastsMs > bounds.leaseMs - bounds.leaseRenewMs);
}

export function describeRefusals(sightings: readonly Sighting[]): string {
  const counts: Record<string, number> = {};
  for (const { status, error, isAcknowledged, hasLeft } of sightings) {
    if (isAcknowledged || hasLeft) continue;
    const name = status === null ? 'none' : status === 200 ? `in the stream: ${error}` : `${status} ${error}`;
    counts[name] = (counts[name] ?? 0) + 1;
  }
  return JSON.stringify(counts);
}

function describeRecovery({ asked }: AllNodes, befallen: readonly ServiceNode[], { healedMs }: Times): string {
  return befallen
    .map((one) => {
      const served = asked.find(({ node, sentMs, status }) => node === one && sentMs > healedMs && status === 200);
      const refused = asked.findLast(
        ({ node, status, answeredMs }) => node === one && status === 503 && answeredMs > healedMs,
      );
      const last = refused === undefined ? '' : ` (last 503 at ${Math.round(refused.answeredMs - healedMs)})`;
      return served === undefined ? 'never' : `${Math.round(served.answeredMs - healedMs)} ms${last}`;
    })
    .join(', ');
}

function describeGiven(givenBackMs: number | null): string {
  return givenBackMs === null ? '' : `; what gone nodes held given back after ${Math.round(givenBackMs)} ms`;
}

function describeEnduring({ seen }: Load, enduring: readonly Enduring[], befallen: readonly ServiceNode[]): string {
  const whole = enduring.filter(({ mark }) => seen.sightings.find((one) => one.mark === mark)?.isAcknowledged);
  const on = (among: readonly Enduring[]) => among.filter(({ node }) => befallen.includes(node)).length;
  return `of ${enduring.length} long streams ${whole.length} whole, of ${on(enduring)} where it happened ${on(whole)}`;
}
