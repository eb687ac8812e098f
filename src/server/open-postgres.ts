// The store of any number of nodes. A node's name is new at each start, so that two processes never share one, even
// from copied images. Holds of a dead node end with its lease.

import { machineTimers } from '../base/timers.ts';
import type { Config } from '../config/config.ts';
import { LostHolds, NodeLedger } from '../ledger/ledger.ts';
import type { LogWriter } from '../observability/observability.ts';
import { loadInstallationSecrets, openVault } from '../secrets/secrets.ts';
import {
  ChangeFeed,
  describeDatabaseFailure,
  listHoldsOf,
  maintainDatabase,
  nameDatabase,
  PostgresGate,
  postgresStores,
  prepareDatabase,
  refusePooler,
  takeLock,
  tryLock,
} from '../storage/postgres/postgres.ts';
import { type OpenStore, reportLedgerFaults, reportUnreadable } from './open-store.ts';
import type { Closing } from './server.ts';

export async function openPostgres(
  config: Config & { databaseUrl: string },
  log: LogWriter,
  closing: Closing,
): Promise<OpenStore> {
  const url = config.databaseUrl;
  const { present, previous } = loadInstallationSecrets(config, false);
  const vault = openVault(present, previous);
  await prepare(url);
  const gate = new PostgresGate(url);
  closing.push(() => gate.close());
  const ledger = new NodeLedger(gate, gate.clock, `node_${crypto.randomUUID()}`, machineTimers, true);
  closing.push(() => leave(gate, ledger));
  ledger.onExpired = (holds) => log.writeEvent('holds_of_gone_nodes_ended', { holds });
  reportLedgerFaults(ledger, log);
  await ledger.open();
  const lostHolds = new LostHolds(
    () => listHoldsOf(url, ledger.owner),
    (requestIds) => ledger.endLost(requestIds),
  );
  const stores = postgresStores(url, ledger, reportUnreadable(log));
  closing.push(() => stores.close());
  const feed = new ChangeFeed(url);
  closing.push(() => feed.close());
  const runAlone: OpenStore['runAlone'] = async (run) => {
    await using lock = await tryLock(url, 'retention');
    if (lock === null) return false;
    await run();
    return true;
  };
  return {
    vault,
    stores,
    outbox: stores.outbox,
    ledger,
    gate,
    clock: gate.clock,
    feed,
    lockStart: () => takeLock(url, 'start'),
    runAlone,
    endLostHolds: (runningIds) => lostHolds.look(runningIds),
    damage: null,
    onFailure: () => {},
    maintain: (signal) => maintainDatabase(url, signal),
  };
}

/** Throws an error that names the setting, without the password. */
async function prepare(url: string): Promise<void> {
  try {
    await refusePooler(url);
    await prepareDatabase(url);
  } catch (cause) {
    const { words } = describeDatabaseFailure(cause, url);
    throw new Error(
      `the database ${nameDatabase(url)} (TURNPIKE_DATABASE_URL or --database) cannot be used: ${words}; "turnpike doctor" shows details`,
      { cause },
    );
  }
}

/** Open holds are ended by the other nodes at once, before the lease lapses. */
async function leave(gate: PostgresGate, ledger: NodeLedger): Promise<void> {
  ledger.close();
  const { node, epoch } = ledger.owner;
  await gate.submit({ operations: [{ kind: 'renew', node, epoch, leaseMs: 0 }] });
}
