// How the service stops: messages finish, bounded; what still runs then is ended and billed as
// received; what is not stored yet gets a last while.

import type { Gateway, RunningMessages } from '../gateway/gateway.ts';
import type { HttpServer } from '../http/http.ts';
import type { LogWriter } from '../observability/observability.ts';

const STOP_MS_MAX = 5_000; // for what is still being sent once every message has ended

/**
 * Readiness is 503 by now. Messages finish, bounded; then what still runs is ended and billed as received.
 * Resolves to how many messages the store did not take the bill of.
 */
export async function drain(gateway: Gateway, http: Pick<HttpServer, 'stop'>, log: LogWriter): Promise<number> {
  const { running, ledger } = gateway;
  await running.waitUntilEmpty(gateway.catalogue().settings.drainSeconds * 1000);
  await cutAll(running);
  await Promise.race([http.stop(true), Bun.sleep(STOP_MS_MAX)]);
  await cutAll(running); // what was between its body and its admission when the drain began
  const unfinished = await ledger.finishEndings(STOP_MS_MAX);
  if (unfinished > 0) log.write({ at: new Date().toISOString(), event: 'endings_not_stored', count: unfinished });
  return unfinished;
}

async function cutAll(running: RunningMessages): Promise<void> {
  if (running.count === 0) return;
  running.cutAll();
  await running.waitUntilEmpty(STOP_MS_MAX);
}
