// The public API over a gateway and a SQLite ledger whose batches can be counted, which the whole service
// shows to nobody. No tests of its own.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  FailureCounter,
  KeyDirectory,
  type KeyTerms,
  makeKeySecret,
  NO_KEY_LIMITS,
} from '../../src/accounts/accounts.ts';
import { systemClock } from '../../src/base/clock.ts';
import { newNumber } from '../../src/base/ids.ts';
import { CatalogueHolder, firstDocuments } from '../../src/catalog/catalog.ts';
import {
  countTokens,
  type Gateway,
  getModel,
  LastLevels,
  listModels,
  RunningMessages,
  SilenceWatches,
  submitMessage,
} from '../../src/gateway/gateway.ts';
import { BodiesInFlight, serveHttp } from '../../src/http/http.ts';
import { type CheckReport, checkLedger, NodeLedger } from '../../src/ledger/ledger.ts';
import { providerKinds, sandboxModelNames } from '../../src/providers/providers.ts';
import { handlePublic } from '../../src/public-api/public-api.ts';
import { databasePath, LedgerThread, sqliteStores, sumLedger } from '../../src/storage/sqlite/sqlite.ts';

export interface CountedService extends AsyncDisposable {
  url: string;
  gateway: Gateway;
  ledger: NodeLedger;
  /** An account with a key, and so much credit in nanodollars. */
  makeKey(creditNano: number, terms?: Partial<KeyTerms>): Promise<{ account: number; key: number; secret: string }>;
  credit(account: number, amountNano: number): Promise<void>;
  check(): CheckReport;
}

const FREE: KeyTerms = { status: 'enabled', expiresAtMs: null, ...NO_KEY_LIMITS };

export async function startCountedService(): Promise<CountedService> {
  const directory = mkdtempSync(join(tmpdir(), 'turnpike-test-'));
  const path = databasePath(directory);
  const clock = systemClock();
  const thread = await LedgerThread.start(new URL('../../src/ledger-worker.ts', import.meta.url), path, (cause) => {
    throw new Error(`the ledger's thread died: ${cause}`);
  });
  const ledger = new NodeLedger(thread, clock, 'local');
  await ledger.open();
  const stores = sqliteStores(path, ledger);
  await stores.catalog.saveCatalog(firstDocuments(sandboxModelNames, null), []);
  const holder = new CatalogueHolder(await stores.catalog.loadCatalog(), () => '');
  const gateway: Gateway = {
    catalogue: () => holder.current,
    gatehouse: { keys: new KeyDirectory(stores.accounts, (secret) => secret), failures: new FailureCounter() },
    ledger,
    providers: providerKinds,
    running: new RunningMessages(),
    silence: new SilenceWatches(),
    levels: new LastLevels(),
    clock,
    random: Math.random,
    report: () => {},
  };
  const http = listen(gateway);
  return {
    url: http.url,
    gateway,
    ledger,
    async makeKey(creditNano, terms = {}) {
      const [account, key] = [newNumber(), newNumber()];
      const { secret, prefix } = makeKeySecret();
      const shared = { createdAtMs: clock.nowMs(), status: 'enabled' as const };
      await stores.accounts.createAccount(
        { id: account, name: 'test', groups: ['default'], ...shared },
        { enabled: true, creditLine: 0, allowance: null, allowancePeriod: 'total' },
        creditNano === 0 ? null : { amount: creditNano, kind: 'payment', reference: null, note: null },
      );
      const scopes = { groups: null, models: null, expiresAtMs: null, origins: null, addresses: null };
      await stores.accounts.createKey(
        { id: key, accountId: account, name: '', prefix, ...scopes, ...shared, status: terms.status ?? 'enabled' },
        secret.reveal(), // the hash of this test's directory is the secret itself
        { ...FREE, ...terms },
      );
      return { account, key, secret: secret.reveal() };
    },
    async credit(account, amount) {
      await ledger.submit({
        operations: [{ kind: 'credit', account, amount, source: 'payment', reference: null, note: null }],
      });
    },
    check: () => checkLedger(sumLedger(path)),
    async [Symbol.asyncDispose]() {
      await http.stop(false);
      ledger.close();
      stores.close();
      await thread.close();
      rmSync(directory, { recursive: true, force: true });
    },
  };
}

function listen(gateway: Gateway) {
  const dependencies = {
    messages: {
      submitMessage: submitMessage.bind(null, gateway),
      countTokens: countTokens.bind(null, gateway),
      listModels: listModels.bind(null, gateway),
      getModel: getModel.bind(null, gateway),
    },
    bodies: new BodiesInFlight(),
    clock: gateway.clock,
    prefixes: () => gateway.catalogue().settings.vendorPrefixes,
    trustedProxies: [],
    isDraining: () => false,
    isStoreAvailable: () => gateway.ledger.isAvailable,
    report: () => {},
  };
  return serveHttp({
    hostname: '127.0.0.1',
    port: 0,
    handle: (request, connection) => handlePublic(request, connection, dependencies),
  });
}
