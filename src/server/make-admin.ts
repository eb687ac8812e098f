// The admin API over the parts of this process.

import { lookup } from 'node:dns/promises';
import { verifyToken } from '../accounts/accounts.ts';
import { type AdminApi, type AdminDependencies, makeAdminApi, type Principal } from '../admin-api/admin-api.ts';
import { formatId } from '../base/ids.ts';
import type { CatalogueHolder } from '../catalog/catalog.ts';
import { type Gateway, listHealth } from '../gateway/gateway.ts';
import { adminLine, auditLine, describeFailure } from '../observability/observability.ts';
import { probeProvider, providerKinds } from '../providers/providers.ts';
import { spreadCut, trailRows } from '../storage/storage.ts';
import type { CatalogueReader } from './catalogue-reader.ts';
import { formerHashes } from './change-secret.ts';
import { lookUpsOf } from './known-secret.ts';
import type { MadeSignIn } from './make-sign-in.ts';
import type { Observers } from './observe.ts';
import type { OpenStore } from './open-store.ts';

/** Whoever can read the data directory. */
const LOCAL_OPERATOR: Principal = { id: 'local', role: 'operator', accountId: null, expiresAtMs: null };

export interface AdminParts {
  gateway: Gateway;
  store: OpenStore;
  holder: CatalogueHolder;
  catalogueReader: CatalogueReader;
  /** Of the operator of this machine. */
  token: string;
  observers: Observers;
  version: string;
  moveAdmin: AdminDependencies['moveAdmin'];
  people: MadeSignIn;
  messagesAt: AdminDependencies['messagesAt'];
}

export function makeAdmin(parts: AdminParts): AdminApi {
  const { gateway, store, holder, catalogueReader, token, version, moveAdmin } = parts;
  const { log, metrics } = parts.observers;
  const { signIn, sessions } = parts.people;
  const { vault, stores, ledger, feed } = store;
  const tokenHash = vault.hash(token);
  const former = formerHashes(store, 'tokens');
  const lookUps = lookUpsOf(store);
  return makeAdminApi({
    version,
    async verifyToken(shown) {
      if (shown.length === token.length && vault.hash(shown) === tokenHash) return LOCAL_OPERATOR;
      const found = await verifyToken(shown, lookUps, { hash: vault.hash, former }, gateway.clock.nowMs());
      return found && { ...found, id: formatId('tok', found.id) };
    },
    countFailure: (address) => gateway.gatehouse.failures.count(address, gateway.clock.nowMs()),
    trailRows,
    accounts: stores.accounts,
    tokens: stores.tokens,
    people: stores.people,
    signIn,
    sessions,
    messagesAt: parts.messagesAt,
    audit: stores.audit,
    ledger: { ...stores.ledger, submit: (bundle) => ledger.submit(bundle) },
    readEpoch: () => feed?.readEpoch() ?? null,
    usage: stores.usage,
    catalog: {
      current: () => holder.current,
      documents: () => stores.catalog.loadCatalog(),
      async save(put, remove, trail) {
        await stores.catalog.saveCatalog(put, remove, trail);
        await catalogueReader.read();
      },
    },
    moveAdmin,
    providerKinds: [...providerKinds.keys()],
    probe: (provider) => probeProvider(providerKinds.get(provider.kind), provider),
    health: (provider) => metrics.health(provider),
    routeStates: () => listHealth(gateway.health, gateway.catalogue()),
    vault,
    clock: gateway.clock,
    forgetKey: (id) => gateway.gatehouse.keys.forget(id),
    forgetAccount: (id) => gateway.gatehouse.keys.forgetAccount(id),
    async endKeyMessages(id) {
      gateway.running.cutKey(id);
      if (feed !== null) await spreadCut(ledger, id);
    },
    lookup: async (hostname) => (await lookup(hostname, { all: true })).map((found) => found.address),
    answered: (answered) => {
      if (!log.isOn) return;
      log.write(adminLine(answered, gateway.clock.nowMs()));
      for (const record of answered.records) log.write(auditLine(record));
    },
    report(request_id, thrown) {
      const at = new Date().toISOString();
      log.write({ at, event: 'admin_failure', request_id, cause: describeFailure(thrown) });
    },
  });
}
