// One installation in memory, put together from the real parts: the public API, the gateway, the ledger over the
// store in memory, and another node that only renews its lease and ends what others left. Only its providers,
// its clients and its time are made up.

import { NO_KEY_LIMITS } from '../../../src/accounts/accounts.ts';
import type { Catalog } from '../../../src/catalog/catalog.ts';
import type { Gateway } from '../../../src/gateway/gateway.ts';
import { BodiesInFlight } from '../../../src/http/http.ts';
import { NodeLedger, type PlanTerms } from '../../../src/ledger/ledger.ts';
import type { PublicDependencies } from '../../../src/public-api/public-api.ts';
import { type MemoryTables, memoryStores } from '../../support/memory-store/memory-store.ts';
import { noAuditContext } from '../../support/no-audit-context.ts';
import { catalogOf } from '../../unit/catalog/support.ts';
import { type AccountName, accountNames, type CastAccount, cast, keyOf, type PlanName, plans } from './cast.ts';
import { catalogFile, type Hooks, makeGateway, publicOver } from './make-gateway.ts';
import { makeProvider } from './provider.ts';
import { Till } from './till.ts';
import type { VirtualTime } from './virtual-time.ts';

export interface World {
  gateway: Gateway;
  dependencies: PublicDependencies;
  bodies: BodiesInFlight;
  tables: MemoryTables;
  till: Till;
  /** Gives the account this plan now. */
  setPlan(by: AccountName, plan: PlanName): Promise<void>;
  /** The key admits nothing more, and its messages end. */
  revoke(by: AccountName, key: number): Promise<void>;
  /** Ends the timers of both nodes. */
  close(): void;
}

/** So few that accounts have to share them. */
const ANSWERS_STORED_BYTES = 1_000_000;
let madeCatalog: Catalog | null = null;

/** Made within installed virtual time. */
export async function makeWorld(time: VirtualTime, hooks: Hooks): Promise<World> {
  const clock = { nowMs: () => time.epochMs };
  const startMs = time.epochMs;
  const stores = memoryStores(clock);
  stores.tables.bounds.set('answersStoredBytes', ANSWERS_STORED_BYTES);
  const ledger = new NodeLedger(stores.gate, clock, 'node-1', undefined, true);
  const peer = new NodeLedger(stores.gate, clock, 'node-2', time.outside, true);
  await ledger.open();
  await peer.open();
  for (const name of accountNames) await openAccount(stores.accounts, time.epochMs, cast[name]);
  const setPlan = async (by: AccountName, plan: PlanName) => {
    await ledger.submit({ operations: [{ kind: 'set-plan', account: cast[by].id, plan: termsOf(plan, startMs) }] });
  };
  for (const name of accountNames) {
    const { plan } = cast[name];
    if (plan !== null) await setPlan(name, plan);
  }
  madeCatalog ??= catalogOf(catalogFile());
  const catalog = madeCatalog;
  const provider = makeProvider(time, hooks.wantedOf, hooks.onProduction);
  const gateway = makeGateway({ stores, ledger, clock, catalog, provider });
  const bodies = new BodiesInFlight(() => catalog.settings.shedBodyBytes);
  return {
    gateway,
    dependencies: publicOver(gateway, bodies, hooks),
    bodies,
    tables: stores.tables,
    till: new Till(stores, ledger, clock),
    async setPlan(by, plan) {
      await setPlan(by, plan);
      gateway.authenticator.keys.forgetAccount(cast[by].id);
    },
    revoke: (by, at) => revoke(gateway, stores.accounts, by, at),
    close() {
      ledger.close();
      peer.close();
    },
  };
}

async function revoke(
  gateway: Gateway,
  accounts: ReturnType<typeof memoryStores>['accounts'],
  by: AccountName,
  at: number,
): Promise<void> {
  const { id, terms } = keyOf(by, at);
  const key = await accounts.getKey(id);
  if (key === null) return;
  const status = 'revoked' as const;
  const revoked = { status, expiresAtMs: null, ...NO_KEY_LIMITS, ...terms };
  await accounts.updateKey({ ...key, status }, revoked, noAuditContext);
  gateway.authenticator.keys.forget(id);
  gateway.running.cutKey(id);
}

async function openAccount(
  accounts: ReturnType<typeof memoryStores>['accounts'],
  nowMs: number,
  { id, creditNano, keys }: CastAccount,
): Promise<void> {
  const shared = { createdAtMs: nowMs, status: 'enabled' as const };
  await accounts.createAccount(
    { id, name: 'economy', groups: ['default'], ...shared },
    { enabled: true, creditLine: 0, allowance: null, allowancePeriod: 'total' },
    creditNano === 0 ? null : { amount: creditNano, kind: 'payment', reference: null, note: null },
    noAuditContext,
  );
  for (const { id: key, secret, terms } of keys)
    await accounts.createKey(
      {
        id: key,
        accountId: id,
        name: '',
        prefix: '',
        groups: null,
        models: null,
        origins: null,
        addresses: null,
        madeBy: null,
        expiresAtMs: null,
        ...shared,
      },
      secret,
      { status: 'enabled', expiresAtMs: null, ...NO_KEY_LIMITS, ...terms },
      noAuditContext,
    );
}

function termsOf(name: PlanName, anchorMs: number): PlanTerms {
  const windows = plans[name];
  return { name, windows, groups: null, anchorMs, paidUntilMs: null, endsAtMs: null, overflow: false };
}
