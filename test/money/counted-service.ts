// The public API over a gateway and a ledger whose batches are counted. The store is SQLite or the one that
// TEST_STORE names.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { KeyDirectory, type KeyTerms, NetworkCounter, TagSets } from '../../src/accounts/accounts.ts';
import { type Clock, systemClock } from '../../src/base/clock.ts';
import { CatalogHolder, firstDocuments } from '../../src/catalog/catalog.ts';
import {
  AdmissionQueue,
  Conversations,
  type Gateway,
  IdempotencyRecords,
  LastLevels,
  PromptCounts,
  RouteHealth,
  RunningMessages,
  SelfServiceReads,
  SilenceWatches,
  Slots,
  StreamHolds,
} from '../../src/gateway/gateway.ts';
import { type CheckReport, checkLedger, NodeLedger } from '../../src/ledger/ledger.ts';
import { providerKinds, sandboxModelNames } from '../../src/providers/providers.ts';
import { openVault } from '../../src/secrets/secrets.ts';
import * as postgres from '../../src/storage/postgres/postgres.ts';
import { databasePath, LedgerThread, sqliteLedger, sqliteStores, sumLedger } from '../../src/storage/sqlite/sqlite.ts';
import { workerScript } from '../../src/threads/threads.ts';
import { Estimates } from '../../src/usage/usage.ts';
import { inPlaceTokenizer } from '../support/in-place-tokenizer.ts';
import { noAuditContext } from '../support/no-audit-context.ts';
import { serveGateway, storeKey } from '../support/serve-gateway.ts';
import { sharedPostgres } from '../support/start-postgres.ts';
import { isOverPostgres } from '../support/test-store.ts';
import type { OpenedStores } from './ledger/workbench.ts';

export interface CountedService extends AsyncDisposable {
  url: string;
  gateway: Gateway;
  ledger: NodeLedger;
  /** Creates an account with a key and this credit, in nanodollars. */
  makeKey(creditNano: number, terms?: Partial<KeyTerms>): Promise<{ account: number; key: number; secret: string }>;
  credit(account: number, amountNano: number): Promise<void>;
  check(): Promise<CheckReport>;
}

export async function startCountedService(): Promise<CountedService> {
  const { ledger, stores, clock, sums, close } = isOverPostgres ? await openPostgres() : await openSqlite();
  // A stream holds all of its max_tokens from the start, so that its hold affects other messages.
  const document = { output_tranche_tokens: 1_000_000 };
  const settings = { kind: 'settings' as const, name: 'settings', origin: 'file' as const, document };
  await stores.catalog.saveCatalog([...firstDocuments(sandboxModelNames, {}), settings], [], noAuditContext);
  const holder = new CatalogHolder(await stores.catalog.loadCatalog(), () => '');
  const gateway: Gateway = {
    catalog: () => holder.current,
    modelLists: { find: () => null, refresh: () => null, stateOf: () => null },
    authenticator: { keys: new KeyDirectory(stores.accounts, (secret) => [secret]), failures: new NetworkCounter() },
    ledger,
    providers: providerKinds,
    running: new RunningMessages(),
    slots: new Slots(() => holder.current.settings.shedOpenMessages),
    counting: new PromptCounts(),
    admissions: new AdmissionQueue(),
    recharges: null,
    silence: new SilenceWatches(),
    streamHolds: new StreamHolds((failure) => {
      throw failure;
    }),
    estimates: new Estimates(),
    tokenizer: inPlaceTokenizer(),
    levels: new LastLevels(),
    tagSets: new TagSets(stores.tagSets),
    answers: new IdempotencyRecords(stores.answers, openVault(Buffer.alloc(32))),
    vault: openVault(Buffer.alloc(32)),
    selfServiceReads: new SelfServiceReads({ ...stores.ledger, ...stores.usage }),
    clock,
    health: new RouteHealth(() => 5, clock.nowMs),
    conversations: new Conversations(Math.random),
    canConnect: async () => true,
    report: () => {},
  };
  const http = serveGateway(gateway);
  return {
    url: http.url,
    gateway,
    ledger,
    makeKey: (creditNano, terms = {}) => storeKey(stores.accounts, clock.nowMs(), creditNano, terms),
    async credit(account, amount) {
      await ledger.submit({
        operations: [{ kind: 'credit', account, amount, source: 'payment', reference: null, note: null }],
      });
    },
    check: async () => checkLedger(await sums()),
    async [Symbol.asyncDispose]() {
      await http.stop(false);
      ledger.close();
      await close();
    },
  };
}

interface Opened extends OpenedStores {
  ledger: NodeLedger;
  clock: Clock;
}

async function openSqlite(): Promise<Opened> {
  const directory = mkdtempSync(join(tmpdir(), 'turnpike-test-'));
  const path = databasePath(directory);
  const clock = systemClock();
  const die = (cause: unknown) => {
    throw new Error(`the ledger's thread died: ${cause}`);
  };
  const thread = await LedgerThread.start(workerScript('ledger-worker'), path, die);
  const resident = sqliteLedger(path, clock, thread, die);
  const ledger = new NodeLedger(resident.gate, clock, 'local');
  await ledger.open();
  const stores = sqliteStores(path, ledger);
  const close = async () => {
    stores.close();
    await resident.close();
    await thread.close();
    rmSync(directory, { recursive: true, force: true });
  };
  const sums = async () => {
    await resident.gate.flush();
    return sumLedger(path);
  };
  return { ledger, stores, clock, sums, close };
}

async function openPostgres(): Promise<Opened> {
  const database = await (await sharedPostgres()).newDatabase();
  const gate = new postgres.PostgresGate(database.url);
  const ledger = new NodeLedger(gate, gate.clock, 'local');
  await ledger.open();
  const stores = postgres.postgresStores(database.url, ledger);
  const close = async () => {
    await stores.close();
    await gate.close();
    await database[Symbol.asyncDispose]();
  };
  return { ledger, stores, clock: gate.clock, sums: () => postgres.sumLedger(database.url), close };
}
