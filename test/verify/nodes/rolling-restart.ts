// Three nodes behind a load balancer are restarted one after the other while messages go on: none may fail and no stream be cut.

import { type Balancer, type BalancerName, startBalancer } from '../../support/start-balancer.ts';
import type { Turnpike } from '../../support/start-turnpike.ts';
import type { Load, Seen } from '../crash/clients.ts';
import { sendOrder } from '../crash/clients.ts';
import type { Nodes, ServiceNode } from './start-nodes.ts';
import { beginRound, compareWorld, type Outcome, openWorld, type World } from './trial.ts';

export interface RollingSettings {
  /** How long the longest streams last. */
  streamSeconds: number;
  /** Rounds over all three nodes. */
  rounds: number;
  seed: number;
}

const NOTICE_SECONDS = 4;
const SHORT_CLIENTS = 6;
const LONG_CLIENTS = 6;
const LARGE_CLIENTS = 2;
const SLOW_CLIENTS = 2;
const LARGE_BYTES = 4_000_000;
const SLOW_UPLOAD_MS = 6_000; // longer than the notice
const SETTLED_MS = 2_500; // a balancer has found a node that is back
const PAUSE_MS = 50;

export async function restartRolling(name: BalancerName, settings: RollingSettings): Promise<Outcome> {
  await using world = await openWorld(settings.seed, {}, { drain_notice_seconds: NOTICE_SECONDS, drain_seconds: 600 });
  const { nodes } = world;
  await using balancer = await startBalancer(
    name,
    nodes.all.map(({ port }) => `127.0.0.1:${port}`),
  );
  const startedMs = Date.now();
  let isOver = false;
  const failures: string[] = [];
  const load = beginRound(world, behind(balancer, nodes), () => isOver);
  const loading = runClients(load, settings.streamSeconds, failures);
  await Bun.sleep(SETTLED_MS);
  const lines: string[] = [];
  for (let round = 1; round <= settings.rounds; round++) {
    for (const [at, node] of nodes.all.entries()) {
      const tookMs = await restart(name, balancer, node, failures);
      lines.push(`${name}: node ${at + 1} was away for ${Math.round(tookMs)} ms`);
      await Bun.sleep(SETTLED_MS);
    }
  }
  isOver = true;
  await loading;
  const faults = [...failures, ...findFailed(load.seen), ...(await compareRolled(world, startedMs))];
  const { sightings } = load.seen;
  const count = (isOf: (sighting: Seen['sightings'][number]) => boolean) => sightings.filter(isOf).length;
  lines.push(
    `${name}: ${sightings.length} messages, ${count(({ stream }) => stream)} streamed, ` +
      `${count(({ isAcknowledged }) => isAcknowledged)} whole, ${failures.length} failed to be asked`,
  );
  return { lines, faults };
}

/** Messages go to the balancer, changes straight to a node. */
function behind(balancer: Balancer, { all }: Nodes): Turnpike {
  const { service } = all[0] as ServiceNode;
  return {
    ...service,
    url: balancer.url,
    post: (secret, body, more = {}) =>
      fetch(`${balancer.url}/v1/messages`, {
        method: 'POST',
        body: JSON.stringify(body),
        ...more,
        headers: { 'content-type': 'application/json', 'x-api-key': secret },
      }),
  };
}

/** As an operator does it. Resolves to how long the node took nothing. */
async function restart(name: BalancerName, balancer: Balancer, node: ServiceNode, failures: string[]): Promise<number> {
  const startedMs = performance.now();
  if (name === 'nginx') await balancer.markDown([`127.0.0.1:${node.port}`]);
  const exitCode = await node.stop();
  if (exitCode !== 0) failures.push(`a node that was told to stop ended with ${exitCode}`);
  await node.start();
  if (name === 'nginx') await balancer.markDown([]);
  return performance.now() - startedMs;
}

async function runClients(load: Load, streamSeconds: number, failures: string[]): Promise<void> {
  const secret = load.callers.secrets[0] as string;
  const pauseMs = 100;
  const long = { deltas: (streamSeconds * 1000) / pauseMs, tokensPerDelta: 2, pauseMs };
  const repeat = async (once: () => Promise<void>) => {
    while (!load.isOver()) {
      await once().catch((thrown) => failures.push(`no answer to its end: ${thrown}`));
      await Bun.sleep(PAUSE_MS * load.random());
    }
  };
  const clients = (count: number, once: () => Promise<void>) => Array.from({ length: count }, () => repeat(once));
  await Promise.all([
    ...clients(SHORT_CLIENTS, () => sendOrder(load, secret, load.random() < 0.5, { deltas: 5, tokensPerDelta: 2 })),
    ...clients(LONG_CLIENTS, () => sendOrder(load, secret, true, long)),
    ...clients(LARGE_CLIENTS, () => sendLarge(load, secret, 0, failures)),
    ...clients(SLOW_CLIENTS, () => sendLarge(load, secret, SLOW_UPLOAD_MS, failures)),
  ]);
}

/** A message with a body of megabytes, at once or over a while. The sandbox answers it. */
async function sendLarge({ turnpike }: Load, secret: string, overMs: number, failures: string[]): Promise<void> {
  const content = 'words and '.repeat(LARGE_BYTES / 10);
  const text = JSON.stringify({ model: 'sandbox-lorem', max_tokens: 4, messages: [{ role: 'user', content }] });
  const body = overMs === 0 ? text : slowly(Buffer.from(text), overMs);
  const response = await turnpike.post(secret, null, { body });
  const answer = await response.text();
  if (response.status !== 200 || !answer.includes('"usage"'))
    failures.push(`a large body over ${overMs} ms: ${response.status} ${answer.slice(0, 300)}`);
}

const PIECES = 30;

function slowly(bytes: Buffer, overMs: number): ReadableStream<Uint8Array> {
  let at = 0;
  const size = Math.ceil(bytes.length / PIECES);
  return new ReadableStream({
    async pull(controller) {
      await Bun.sleep(overMs / PIECES);
      controller.enqueue(bytes.subarray(at, at + size));
      at += size;
      if (at >= bytes.length) controller.close();
    },
  });
}

function findFailed({ sightings }: Seen): string[] {
  return sightings.filter(({ isAcknowledged }) => !isAcknowledged).map((seen) => `failed: ${JSON.stringify(seen)}`);
}

async function compareRolled(world: World, startedMs: number): Promise<string[]> {
  const { figures, faults } = await compareWorld(world, startedMs, Date.now());
  return figures.acknowledged === figures.billed
    ? faults
    : [...faults, `billed ${figures.billed} of ${figures.acknowledged}`];
}
