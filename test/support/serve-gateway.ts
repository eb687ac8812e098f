// For tests that assemble a gateway: the public API over it, and keys. In their stores the hash of a secret is the
// secret itself.

import {
  type AccountStore,
  type AutoRecharge,
  type KeyTerms,
  makeKeySecret,
  NO_KEY_LIMITS,
  type PersonStore,
} from '../../src/accounts/accounts.ts';
import { newNumber } from '../../src/base/ids.ts';
import {
  countTokens,
  type Gateway,
  getKey,
  getModel,
  getUsage,
  listModels,
  submitMessage,
} from '../../src/gateway/gateway.ts';
import { BodiesInFlight, type HttpServer, serveHttp } from '../../src/http/http.ts';
import { handlePublic, type PublicDependencies } from '../../src/public-api/public-api.ts';
import { Spool } from '../../src/spool/spool.ts';
import { noAuditContext } from './no-audit-context.ts';

/** The public API over a gateway, on a free port. `submit` handles its messages. */
export function serveGateway(
  gateway: Gateway,
  changes: Partial<PublicDependencies> = {},
  submit = submitMessage,
): HttpServer {
  const settings = () => gateway.catalog().settings;
  const dependencies: PublicDependencies = {
    messages: {
      submitMessage: submit.bind(null, gateway),
      countTokens: countTokens.bind(null, gateway),
      listModels: listModels.bind(null, gateway),
      getModel: getModel.bind(null, gateway),
      getKey: getKey.bind(null, gateway),
      getUsage: getUsage.bind(null, gateway),
    },
    bodies: new BodiesInFlight(() => settings().shedBodyBytes),
    spool: new Spool('none'), // no request has files
    load: { loopDelayMs: () => 0, openMessages: () => gateway.slots.taken },
    clock: gateway.clock,
    settings,
    trustedProxies: [],
    reportsAddress: true,
    isLeaving: () => false,
    isDraining: () => false,
    isStoreAvailable: () => gateway.ledger.isAvailable,
    report: () => {},
    ...changes,
  };
  return serveHttp({
    hostname: '127.0.0.1',
    port: 0,
    handle: (request, connection) => handlePublic(request, connection, dependencies),
  });
}

/** Creates an account in the group `default` with this credit in nanodollars, and a key. */
export async function storeKey(
  accounts: AccountStore,
  nowMs: number,
  creditNano: number,
  terms: Partial<KeyTerms>,
  autoRecharge: AutoRecharge | null = null,
  person: { people: PersonStore; id: number } | null = null,
) {
  const [account, key] = [newNumber(), newNumber()];
  const { secret, prefix } = makeKeySecret();
  const shared = { createdAtMs: nowMs, status: 'enabled' as const };
  await accounts.createAccount(
    { id: account, name: 'test', groups: ['default'], autoRecharge, ...shared },
    { enabled: true, creditLine: 0, allowance: null, allowancePeriod: 'total' },
    creditNano === 0 ? null : { amount: creditNano, kind: 'payment', reference: null, note: null },
    noAuditContext,
  );
  if (person !== null) await storeMember(person.people, person.id, account, nowMs);
  const personId = person?.id ?? null;
  const { status = 'enabled', expiresAtMs = null } = terms;
  const scopes = { groups: null, models: null, origins: null, addresses: null, madeBy: null };
  await accounts.createKey(
    { id: key, accountId: account, name: '', prefix, ...scopes, ...shared, status, expiresAtMs, personId },
    secret.reveal(),
    { status, expiresAtMs, ...NO_KEY_LIMITS, ...terms },
    noAuditContext,
  );
  return { account, key, secret: secret.reveal() };
}

function storeMember(people: PersonStore, id: number, accountId: number, createdAtMs: number): Promise<void> {
  const named = { email: 'ada@example.com', name: 'Ada', role: 'member', status: 'enabled' } as const;
  const member = { id, accountId, ...named, linkExpiresAtMs: null, madeBy: 'operator', createdAtMs };
  return people.createPerson(member, null, noAuditContext);
}
