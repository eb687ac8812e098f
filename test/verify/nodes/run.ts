// `npm run nodes`: three nodes on one PostgreSQL. NODES_RUNS times (20) 5,000 messages at once on money for 250; NODES_ROUNDS times (3)
// each fault under load, a node standing still for NODES_STOP_SECONDS (120) and more; a rolling restart behind HAProxy and nginx with
// streams of NODES_STREAM_SECONDS (30); an upgrade from the previous release with killed nodes. NODES_SEED (the day) draws the load; `--only
// NAME` is one of it. Ends with a count line.

import { DAY_MS } from '../../../src/base/clock.ts';
import { bounds } from '../../../src/config/config.ts';
import { findBalancer } from '../../support/start-balancer.ts';
import { cannotStartPostgres } from '../../support/start-postgres.ts';
import { runFaultRound } from './fault-round.ts';
import { listFaults, type NodesFault } from './faults.ts';
import { restartRolling } from './rolling-restart.ts';
import { upgradeRolling } from './rolling-upgrade.ts';
import { exactly, meters, settings, spendTogether } from './spend-together.ts';
import { applyEverywhere, type ServiceNode, startNodes } from './start-nodes.ts';
import { type Outcome, openWorld } from './trial.ts';

const read = (name: string, usual: number) => Number(process.env[`NODES_${name}`] ?? usual);
const runs = read('RUNS', 20);
const rounds = read('ROUNDS', 3);
const stopSeconds = read('STOP_SECONDS', 120);
const streamSeconds = read('STREAM_SECONDS', 30);
const seed = read('SEED', Math.floor(Date.now() / DAY_MS));
const LANES = 2; // most of a trial is waiting
const AWAY_SECONDS = 18; // beyond all leases
// Longer than the timeout of a write, but over before a renewal is tried a second time: no lease lapses, whenever it begins.
const SILENCE_SECONDS = (bounds.writeRoundTripMsMax + bounds.leaseRenewAgainMs - 100) / 1000;

interface Trial {
  name: string;
  /** Why it cannot be, or null. */
  missing: string | null;
  /** Tells of each of its runs. */
  run(): Promise<void>;
}

const noPostgres = cannotStartPostgres ? 'there is no PostgreSQL' : null;
const lengths = { stopSeconds, awaySeconds: Math.min(AWAY_SECONDS, stopSeconds), silenceSeconds: SILENCE_SECONDS };
const faults = listFaults(lengths);
const trials = chooseTrials([
  { name: 'killed', missing: noPostgres, run: () => runFaults(({ isOfNode }) => isOfNode) },
  { name: 'money', missing: noPostgres, run: runMoney },
  { name: 'haproxy', missing: missing('haproxy'), run: () => runRolling('haproxy') },
  { name: 'database', missing: noPostgres, run: () => runFaults(({ isOfStore }) => isOfStore) },
  {
    name: 'connections',
    missing: noPostgres,
    run: () => runFaults(({ isOfNode, isOfStore }) => !isOfNode && !isOfStore),
  },
  { name: 'nginx', missing: missing('nginx'), run: () => runRolling('nginx') },
  {
    name: 'upgrade',
    missing: noPostgres,
    run: async () => tell('rolling upgrade from the previous release', await upgradeRolling(seed)),
  },
]);
const isCi = !['', '0', 'false', undefined].includes(process.env['CI']);
const counts = { passed: 0, failed: 0, skipped: 0 };
const waiting = [...trials];
await Promise.all(Array.from({ length: LANES }, runLane));
const skipped = !isCi && counts.skipped > 0 ? `, ${counts.skipped} skipped` : '';
const failed = counts.failed + (isCi ? counts.skipped : 0);
console.log(`NODES_SEED=${seed}\n${counts.passed} passed, ${failed} failed${skipped}`);
process.exit(failed === 0 && counts.passed > 0 ? 0 : 1);

function chooseTrials(all: readonly Trial[]): readonly Trial[] {
  const [flag, name, ...rest] = process.argv.slice(2);
  if (flag === undefined) return all;
  const named = all.filter((trial) => trial.name === name);
  if (flag === '--only' && named.length === 1 && rest.length === 0) return named;
  throw new Error(`usage: nodes [--only NAME], where NAME is one of ${all.map((trial) => trial.name).join(' ')}`);
}

function missing(balancer: 'haproxy' | 'nginx'): string | null {
  return noPostgres ?? (findBalancer(balancer) === null ? `there is no ${balancer}` : null);
}

async function runLane(): Promise<void> {
  for (let trial = waiting.shift(); trial !== undefined; trial = waiting.shift()) {
    if (trial.missing !== null) {
      counts.skipped++;
      console.log(`SKIPPED ${trial.name}: ${trial.missing}`);
      continue;
    }
    try {
      await trial.run();
    } catch (failure) {
      tell(trial.name, { lines: [], faults: [`broken: ${failure instanceof Error ? failure.stack : failure}`] });
    }
  }
}

/** One run or round: passed or failed. */
function tell(name: string, { lines, faults }: Outcome): void {
  if (faults.length === 0) counts.passed++;
  else counts.failed++;
  console.log(`${faults.length === 0 ? 'passed' : 'FAILED'} ${name}`);
  for (const line of [...lines, ...faults.map((fault) => `FAULT ${fault}`)]) console.log(`  ${line}`);
}

async function runMoney(): Promise<void> {
  await using nodes = await startNodes(3);
  await applyEverywhere(nodes, { settings });
  for (let run = 0; run < runs; run++) {
    for (const meter of Object.keys(meters) as (keyof typeof meters)[]) {
      const { tookMs, ...spent } = await spendTogether(nodes, meter, nodes.all[run % 3] as ServiceNode);
      const report = await nodes.check();
      const isExact = Bun.deepEquals(spent, exactly) && report.ok && report.open_holds === 0;
      const line = `run ${run + 1}, ${meter}: ${JSON.stringify(spent.verdicts)}, paid for ${spent.paid}, held ${spent.held}`;
      tell('money', {
        lines: [`${line}, ${Math.round(tookMs)} ms`],
        faults: isExact ? [] : [`not exact: ${JSON.stringify(spent)}, ${JSON.stringify(report)}`],
      });
    }
  }
}

async function runFaults(isChosen: (fault: NodesFault) => boolean): Promise<void> {
  await using world = await openWorld(seed, { proxied: true }, {});
  for (let round = 0; round < rounds; round++) {
    for (const fault of faults.filter(isChosen)) tell(fault.name, await runFaultRound(world, fault));
  }
}

async function runRolling(name: 'haproxy' | 'nginx'): Promise<void> {
  const outcome = await restartRolling(name, { streamSeconds, rounds, seed });
  tell(`rolling restart behind ${name}`, outcome);
}
