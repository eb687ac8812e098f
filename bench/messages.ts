// The cost of a message: CPU time against the bare proxy in the same round, latency, and memory.

import { type Figure, median, quantile, ratios } from './figures.ts';
import { gates } from './gates.ts';
import {
  allMeters,
  bodyOf,
  cpuOf,
  post,
  send,
  startBareProxy,
  startService,
  startUntouched,
  startUpstream,
} from './processes.ts';

const SMALL_BYTES = 920; // a body of 1 KB
const LONG_BYTES = 76 * 1024; // a coding agent's request
const PACED_PER_SECOND = 1_000;
const PACED_SECONDS = 5;
const IDLE_MS = 3_000;

export async function measureMessages(rounds: number): Promise<Figure[]> {
  await using upstream = await startUpstream();
  await using bare = await startBareProxy(upstream);
  await using quiet = await startService(upstream);
  await using logging = await startService(upstream, { TURNPIKE_LOG: 'json' });
  const idleMegabytes = await measureIdle();
  const appliedMegabytes = quiet.residentMegabytes();
  const key = await quiet.makeKey({}, allMeters);
  const loggedKey = await logging.makeKey({}, allMeters);
  const poorKey = await quiet.makeKey({ credit: '0.00' });
  const slowKey = await quiet.makeKey({}, { rpm: 1 });
  const small = { secret: key, body: bodyOf(SMALL_BYTES) };
  const many = { connections: 32, requests: 10_000 };
  const one = { connections: 1, requests: 2_000 };
  const few = { connections: 32, requests: 3_000 };
  const long = { ...few, secret: key, body: bodyOf(LONG_BYTES) };
  const refused = { ...few, body: small.body };
  const measures = {
    bareMany: () => cpuOf(bare, { ...small, ...many }),
    many: () => cpuOf(quiet, { ...small, ...many }),
    logged: () => cpuOf(logging, { ...small, ...many, secret: loggedKey }),
    bareOne: () => cpuOf(bare, { ...small, ...one }),
    one: () => cpuOf(quiet, { ...small, ...one }),
    bareLong: () => cpuOf(bare, long),
    long: () => cpuOf(quiet, long),
    poor: () => cpuOf(quiet, { ...refused, secret: poorKey, statuses: [400] }),
    slow: () => cpuOf(quiet, { ...refused, secret: slowKey, statuses: [200, 429] }),
    unknown: () => cpuOf(quiet, { ...refused, secret: 'sk-tp-unknown', statuses: [401, 429] }),
    oneMs: async () => median(await send(quiet, { ...small, ...one })),
    sixteenMs: async () => median(await send(quiet, { ...small, connections: 16, requests: 8_000 })),
  };
  const of = Object.fromEntries(Object.keys(measures).map((name) => [name, [] as number[]])) as Record<
    keyof typeof measures,
    number[]
  >;
  const paced: number[][] = [];
  await send(bare, { ...small, ...many }); // both reach their speed
  await send(quiet, { ...small, ...many });
  await send(logging, { ...small, ...many, secret: loggedKey });
  for (let round = 0; round < rounds; round++) {
    for (const name of Object.keys(measures) as (keyof typeof measures)[]) of[name].push(await measures[name]());
    paced.push(await sendPaced(quiet, small.secret, small.body));
  }
  return [
    { what: 'CPU of a bare proxy’s message', unit: 'µs', values: of.bareMany },
    { what: 'CPU of a message, all meters, no log', unit: 'µs', values: of.many },
    { what: '— against the bare proxy', unit: 'x', values: ratios(of.many, of.bareMany), gate: gates.message },
    { what: '— at 1 connection', unit: 'x', values: ratios(of.one, of.bareOne) },
    { what: '— with the JSON log, against without', unit: 'x', values: ratios(of.logged, of.many) },
    { what: '— with a body of 76 KB', unit: 'x', values: ratios(of.long, of.bareLong), gate: gates.messageOf76KB },
    { what: 'CPU of a message refused for lack of money', unit: 'x', values: ratios(of.poor, of.bareMany) },
    { what: '— refused by a rate limit', unit: 'x', values: ratios(of.slow, of.bareMany) },
    { what: '— with an unknown key', unit: 'x', values: ratios(of.unknown, of.bareMany), gate: gates.unknownKey },
    { what: 'latency p50, 1 connection', unit: 'ms', values: of.oneMs },
    { what: '— 16 connections', unit: 'ms', values: of.sixteenMs },
    { what: '— 1,000 requests a second', unit: 'ms', values: paced.map(median) },
    { what: '— p99', unit: 'ms', values: paced.map((times) => quantile(times, 0.99)) },
    { what: 'resident memory, idle', unit: 'MB', values: [idleMegabytes], gate: gates.idleMegabytes },
    { what: '— with the admin API loaded', unit: 'MB', values: [appliedMegabytes] },
    { what: '— under load', unit: 'MB', values: [quiet.residentMegabytes()] },
  ];
}

async function measureIdle(): Promise<number> {
  await using untouched = await startUntouched();
  await Bun.sleep(IDLE_MS);
  return untouched.residentMegabytes();
}

/** Sends requests at a constant pace, however long answers take. The times are from the moment each was due. */
async function sendPaced(target: { url: string }, secret: string, body: string): Promise<number[]> {
  const startMs = performance.now();
  const tookMs: number[] = [];
  const sendAt = async (dueMs: number) => {
    const response = await post(target, secret, body);
    await response.text();
    tookMs.push(performance.now() - dueMs);
  };
  const sending: Promise<void>[] = [];
  for (let at = 0; at < PACED_PER_SECOND * PACED_SECONDS; ) {
    const dueMs = startMs + (at * 1000) / PACED_PER_SECOND;
    if (dueMs > performance.now()) {
      await Bun.sleep(1);
      continue;
    }
    sending.push(sendAt(dueMs));
    at++;
  }
  await Promise.all(sending);
  return tookMs;
}
