// Two nodes of the previous release under load. Two nodes of this build join, of which the first migrates the tables; one of each is killed
// in the middle of streams; the previous ones leave. Nothing that was answered is lost or billed otherwise.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { rootDirectory } from '../../check.ts';
import { findPrevious, unpackBuild } from '../compatibility/previous-build.ts';
import { type Load, runClients } from '../crash/clients.ts';
import { type AllNodes, callAll } from './all-nodes.ts';
import { awaitNoHolds, describeRefusals, wasLeft } from './fault-round.ts';
import type { ServiceNode } from './start-nodes.ts';
import { beginRound, compareWorld, type Outcome, openWorld, readFailures } from './trial.ts';

const WARM_MS = 4_500; // so that there are streams with checkpoints
const TOGETHER_MS = 4_500;
const AFTER_MS = 2_500;
const NOTICE_SECONDS = 3; // a message that was sent just before the stop is taken

export async function upgradeRolling(seed: number): Promise<Outcome> {
  const directory = mkdtempSync(join(tmpdir(), 'turnpike-previous-'));
  try {
    const previous = await findPrevious();
    await unpackBuild(previous, directory);
    const { lines, faults } = await runUpgrade(seed, directory);
    return { lines: [`from ${previous}`, ...lines], faults };
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

async function runUpgrade(seed: number, previous: string): Promise<Outcome> {
  const builds = [previous, previous, rootDirectory, rootDirectory];
  await using world = await openWorld(seed, { builds, startedFirst: 2 }, { drain_notice_seconds: NOTICE_SECONDS });
  const [killedOld, lastOld, killedNew, lastNew] = world.nodes.all as [
    ServiceNode,
    ServiceNode,
    ServiceNode,
    ServiceNode,
  ];
  const calls = callAll(world.nodes, [killedNew, lastNew]);
  const startedMs = Date.now();
  let isOver = false;
  const load: Load = { ...beginRound(world, calls.turnpike, () => isOver), goesOn: true };
  const loading = runClients(load);
  await Bun.sleep(WARM_MS);
  for (const node of [killedNew, lastNew]) {
    await node.start();
    calls.passedOver.delete(node);
  }
  await Bun.sleep(TOGETHER_MS);
  for (const node of [killedOld, killedNew]) node.kill();
  const killedAtMs = Date.now();
  for (const node of [killedOld, killedNew]) calls.passedOver.add(node);
  await killedNew.start();
  calls.passedOver.delete(killedNew);
  const back = await startPrevious(killedOld);
  if (back === null) calls.passedOver.delete(killedOld);
  await Bun.sleep(AFTER_MS);
  const faults: string[] = [];
  for (const node of [killedOld, lastOld].filter(({ isRunning }) => isRunning)) {
    calls.passedOver.add(node);
    const exitCode = await node.stop();
    if (exitCode !== 0) faults.push(`a node of the previous release that was told to stop ended with ${exitCode}`);
  }
  await Bun.sleep(AFTER_MS);
  isOver = true;
  await loading;
  faults.push(...(await awaitNoHolds(world)));
  const compared = await compareWorld(world, startedMs, killedAtMs);
  faults.push(...compared.faults, ...judgeAnswers(load, calls, [killedOld, killedNew]));
  if (compared.figures.acknowledged !== compared.figures.billed)
    faults.push('not every acknowledged message is billed');
  if (faults.length > 0) faults.push(...readFailures(world, startedMs));
  return { lines: describe(load, compared.figures, calls, back), faults };
}

/** After the migration. null: it serves; otherwise why it does not. */
async function startPrevious(node: ServiceNode): Promise<string | null> {
  try {
    await node.start();
    return null;
  } catch (failure) {
    const words = String(failure);
    if (!words.includes('a later release wrote it')) throw failure;
    return words;
  }
}

/** Only killed nodes may owe an answer, and nothing is refused but for lack of money. */
function judgeAnswers({ seen }: Load, { asked }: AllNodes, killed: readonly ServiceNode[]): string[] {
  const refused = seen.sightings.filter(
    ({ status, error }) => status !== null && status !== 200 && error !== 'insufficient_user_quota',
  );
  const unanswered = asked.filter(
    ({ node, status, requestId }) => status === null && !killed.includes(node) && !wasLeft(seen.sightings, requestId),
  );
  const nodeOf = (id: string | null) => asked.find(({ requestId }) => requestId === id)?.node.port;
  return [
    ...refused.map((sighting) => `refused by node ${nodeOf(sighting.requestId)}: ${JSON.stringify(sighting)}`),
    ...unanswered.map(({ node }) => `no answer of node ${node.port}, which was not killed`),
  ];
}

function describe(
  { seen }: Load,
  figures: { requests: number; acknowledged: number; billed: number; checkpointed: number; uncharged: number },
  { asked }: AllNodes,
  back: string | null,
): string[] {
  const counts = new Map<ServiceNode, number>();
  for (const { node, status } of asked) if (status === 200) counts.set(node, (counts.get(node) ?? 0) + 1);
  return [
    `${figures.requests} messages, ${figures.acknowledged} acknowledged, ${figures.billed} of these billed; cut: ` +
      `${figures.checkpointed} billed to a checkpoint, ${figures.uncharged} for nothing; answers without 200: ` +
      `${describeRefusals(seen.sightings)}; answered by each node: ${[...counts.values()].join(', ')}`,
    `the previous release on the new tables: ${back === null ? 'serves' : 'refuses to start'}`,
  ];
}
