// How the service stops: load balancers are told, and have a while to notice where a setting says so; then no new messages
// are taken, and running ones finish, bounded; what still runs then is ended and billed as received; what is not stored yet
// gets a last while.

import type { Gateway, RunningMessages } from '../gateway/gateway.ts';
import type { BodiesInFlight, HttpServer } from '../http/http.ts';
import type { LogWriter } from '../observability/observability.ts';

const STOP_MS_MAX = 5_000; // for what is still being sent once every message has ended
const LOOK_MS = 20;

/** How far a stop has come. */
export interface StopState {
  /** Readiness is 503. */
  isLeaving: boolean;
  /** Messages are refused. */
  isDraining: boolean;
}

/**
 * Tells load balancers, then refuses messages. Running ones finish, bounded; then what still runs is ended and billed as received.
 * Resolves to how many messages the store did not take the bill of.
 */
export async function drain(
  gateway: Gateway,
  bodies: Pick<BodiesInFlight, 'open'>,
  http: Pick<HttpServer, 'stop'>,
  log: LogWriter,
  state: StopState,
): Promise<number> {
  const { running, ledger } = gateway;
  const { drainNoticeSeconds, drainSeconds } = gateway.catalogue().settings;
  state.isLeaving = true;
  if (drainNoticeSeconds > 0) await Bun.sleep(drainNoticeSeconds * 1000);
  state.isDraining = true;
  await waitUntilDone(running, bodies, drainSeconds * 1000);
  await cutAll(running);
  await Promise.race([http.stop(true), Bun.sleep(STOP_MS_MAX)]);
  await cutAll(running); // what was between its body and its admission when the drain began
  const unfinished = await ledger.finishEndings(STOP_MS_MAX);
  if (unfinished > 0) log.write({ at: new Date().toISOString(), event: 'endings_not_stored', count: unfinished });
  return unfinished;
}

/** Also what was let in and does not run yet, such as a body that is still coming: it was promised an answer. */
async function waitUntilDone(
  running: RunningMessages,
  bodies: Pick<BodiesInFlight, 'open'>,
  boundMs: number,
): Promise<void> {
  for (const untilMs = performance.now() + boundMs; performance.now() < untilMs; await Bun.sleep(LOOK_MS)) {
    await running.waitUntilEmpty(untilMs - performance.now());
    if (bodies.open === 0 && running.count === 0) return;
  }
}

async function cutAll(running: RunningMessages): Promise<void> {
  if (running.count === 0) return;
  running.cutAll();
  await running.waitUntilEmpty(STOP_MS_MAX);
}
