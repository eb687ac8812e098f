// The store of any number of nodes. A node's name is new with each start: two processes can never take each other for
// themselves, whatever directories or images they were copied from. What a node left open that is gone ends with its lease.

import { machineTimers } from '../base/timers.ts';
import type { Config } from '../config.ts';
import { NodeLedger } from '../ledger/ledger.ts';
import type { LogWriter } from '../observability/observability.ts';
import { loadInstallationSecrets, openVault } from '../secrets/secrets.ts';
import {
  ChangeFeed,
  describeDatabaseFailure,
  nameDatabase,
  PostgresGate,
  postgresStores,
  prepareDatabase,
  takeLock,
  tendDatabase,
  tryLock,
} from '../storage/postgres/postgres.ts';
import type { OpenStore } from './open-store.ts';
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
  const ledger = new NodeLedger(gate, gate.clock, newNodeName(), machineTimers, true);
  closing.push(() => leave(gate, ledger));
  ledger.onExpired = (holds) => log.write({ at: new Date().toISOString(), event: 'holds_of_gone_nodes_ended', holds });
  await ledger.open();
  const stores = postgresStores(url, ledger);
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
    ledger,
    gate,
    clock: gate.clock,
    feed,
    lockStart: () => takeLock(url, 'start'),
    runAlone,
    tend: () => tendDatabase(url),
  };
}

/** Throws in words that name the setting, and hold no password. */
async function prepare(url: string): Promise<void> {
  try {
    await prepareDatabase(url);
  } catch (cause) {
    const { words } = describeDatabaseFailure(cause, url);
    throw new Error(
      `the database ${nameDatabase(url)} (TURNPIKE_DATABASE_URL or --database) cannot be used: ${words}; "turnpike doctor" tells more`,
      { cause },
    );
  }
}

function newNodeName(): string {
  return `node_${crypto.randomUUID()}`;
}

/** Whatever is still held is given back by the other nodes at once, and not when the lease lapses. */
async function leave(gate: PostgresGate, ledger: NodeLedger): Promise<void> {
  ledger.close();
  const { node, epoch } = ledger.owner;
  await gate.submit({ operations: [{ kind: 'renew', node, epoch, leaseMs: 0 }] });
}
