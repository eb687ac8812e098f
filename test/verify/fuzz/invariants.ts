// Invariants after every batch, once all connections are closed: nothing is held, no client is locked out, the
// process is the same and has not grown.

import { readSamples } from '../../support/read-samples.ts';
import { askMessage } from './bystanders.ts';
import { type Installation, readProcess, settings } from './installation.ts';

const LOOK_MS = 100;
const CHECK_EVERY = 10;
const RESTLESS_TIMES_MAX = 4; // for gauges that never stand still
const WARM_UP_BATCHES = 8;
const GROWTH_BYTES_MAX = 400 * 1024 * 1024;
const GROWTH_FILES_MAX = 60;

const ZERO_GAUGES = [
  'turnpike_open_messages{stream="true"}',
  'turnpike_open_messages{stream="false"}',
  'turnpike_bodies_in_flight_bytes',
  'turnpike_ledger_queued_admissions',
  'turnpike_ledger_unfinished_endings',
  'turnpike_open_holds',
  'turnpike_held_usd',
];

/** The most that the process took while it warmed up. */
export interface HighWater {
  residentBytes: number;
  files: number;
}

/**
 * The broken invariant, as "name: observation"; null if none is broken. `quietMsMax`: how long a gauge must stay the
 * same to be at rest.
 */
export async function findBroken(
  installation: Installation,
  batches: number,
  high: HighWater,
  quietMsMax: number,
): Promise<string | null> {
  const pid = installation.turnpike.process.pid;
  if (readProcess(pid) === null || installation.turnpike.process.exitCode !== null) return 'process: it ended';
  try {
    return (
      (await waitUntilQuiet(installation, quietMsMax)) ??
      (await findHeld(installation)) ??
      (await findLostSlot(installation)) ??
      (await findGrowth(pid, batches, high, quietMsMax)) ??
      (batches % CHECK_EVERY === 0 ? await checkStore(installation) : null)
    );
  } catch (failure) {
    return `service: ${failure}`;
  }
}

async function waitUntilQuiet({ turnpike }: Installation, msMax: number): Promise<string | null> {
  const startedMs = performance.now();
  let since = startedMs;
  let before: string | null = null;
  for (;;) {
    const loud = findLoud(readSamples(await (await turnpike.scrape()).text()));
    if (loud === null) return null;
    if (loud !== before) since = performance.now();
    const nowMs = performance.now();
    if (nowMs - since > msMax || nowMs - startedMs > RESTLESS_TIMES_MAX * msMax) return loud;
    before = loud;
    await Bun.sleep(LOOK_MS);
  }
}

/** The first gauge that is not back where it belongs. */
function findLoud(samples: Record<string, number>): string | null {
  const upstream = Object.keys(samples).filter((name) => name.startsWith('turnpike_upstream_in_flight'));
  for (const name of [...ZERO_GAUGES, ...upstream])
    if (samples[name] !== 0) return `gauge: ${name} is ${samples[name]}`;
  const inFlight = samples['turnpike_requests_in_flight'];
  if (inFlight !== 1) return `gauge: turnpike_requests_in_flight is ${inFlight}, of which one asks for it`;
  return samples['turnpike_store_available'] === 1 ? null : 'gauge: turnpike_store_available is not 1';
}

async function findHeld({ turnpike }: Installation): Promise<string | null> {
  const page = (await turnpike.admin('GET', '/accounts?limit=100')) as Record<string, Record<string, unknown>[]>;
  for (const { name, held } of page['items'] ?? page['data'] ?? [])
    if (Number(held) !== 0) return `held: ${held} of the account ${name}`;
  return null;
}

/** There is no gauge of slots: with a single slot, a leaked one would lock out everybody else. */
async function findLostSlot(installation: Installation): Promise<string | null> {
  const apply = (document: object) => installation.turnpike.admin('POST', '/apply', { document });
  await apply({ settings: { ...settings, shed_open_messages: 1 } });
  for (const key of [installation.singleKey, installation.singleKey, installation.attacker.key]) {
    const wrong = await askMessage(installation, key);
    if (wrong !== null) return `seat: one message after the other is not served: ${wrong}`;
  }
  await apply({ settings });
  return null;
}

/** The files of connections that were just closed are closed in a moment. */
async function findGrowth(pid: number, batches: number, high: HighWater, msMax: number): Promise<string | null> {
  const startedMs = performance.now();
  for (;;) {
    const now = readProcess(pid);
    if (now === null) return 'process: it ended';
    if (batches <= WARM_UP_BATCHES) {
      high.residentBytes = Math.max(high.residentBytes, now.residentBytes);
      high.files = Math.max(high.files, now.files);
      return null;
    }
    const grown = describeGrowth(now, high);
    if (grown === null || performance.now() - startedMs > msMax) return grown;
    await Bun.sleep(LOOK_MS);
  }
}

function describeGrowth(now: HighWater, high: HighWater): string | null {
  const megabytes = (bytes: number) => `${Math.round(bytes / 1024 / 1024)} MB`;
  if (now.residentBytes > high.residentBytes + GROWTH_BYTES_MAX)
    return `memory: ${megabytes(now.residentBytes)}, ${megabytes(high.residentBytes)} after the warm-up`;
  if (now.files > high.files + GROWTH_FILES_MAX) return `files: ${now.files}, ${high.files} after the warm-up`;
  return null;
}

async function checkStore({ turnpike }: Installation): Promise<string | null> {
  const report = await turnpike.check();
  return report.ok ? null : `check: ${JSON.stringify(report.faults).slice(0, 500)}`;
}
