// The admin API's dependencies, composed by the server. Its only own state is the change lock.

import {
  type Account,
  type AccountStore,
  type DirectoryGroupStore,
  isKeyOf,
  type Key,
  mayHold,
  type NameSearches,
  type NetworkCounter,
  type Person,
  type PersonStore,
  type SavedViewStore,
  type ScimStore,
  type SignUpStore,
  type TokenRole,
  type TokenStore,
} from '../accounts/accounts.ts';
import type { AgentStore } from '../agents/agents.ts';
import type { AuditContext, AuditRecord, AuditStore } from '../audit/audit.ts';
import type { Clock } from '../base/clock.ts';
import type { Count } from '../base/fair-limits.ts';
import { formatId } from '../base/ids.ts';
import type { BatchStore } from '../batches/batches.ts';
import type { BillStore } from '../bills/bills.ts';
import type { Auth, Catalog, CatalogDocument, DocumentKind, Model, ProviderSettings } from '../catalog/catalog.ts';
import { bounds, type IntegrationId, type OidcSettings } from '../config/config.ts';
import type { DeliveryStore, DestinationStore, Mailer } from '../delivery/delivery.ts';
import { TurnpikeError } from '../errors.ts';
import type { EventStore } from '../events/events.ts';
import type { ExportSources, ExportStore } from '../exports/exports.ts';
import type { CAPABILITIES, ListState, TargetHealth } from '../gateway/gateway.ts';
import type { IncidentStore } from '../incidents/incidents.ts';
import type { LedgerGate, LedgerReader } from '../ledger/ledger.ts';
import type {
  AutoRecharges,
  Checkouts,
  CodeStore,
  PaymentChecker,
  PaymentStore,
  PlanSales,
} from '../payments/payments.ts';
import type { OfferedModel, ProbeResult, ProviderEndpoint } from '../providers/providers.ts';
import type { MonthStore, UsageStore } from '../reports/reports.ts';
import type { SecretHashes, Vault } from '../secrets/secrets.ts';
import type { RefusalStore, RouteHourStore } from '../traffic/traffic.ts';

/** The current catalog and its documents. */
interface AdminCatalog {
  current(): Catalog;
  documents(): Promise<CatalogDocument[]>;
  /** Stores in one transaction; when it resolves, the new catalog is current. */
  save(
    put: readonly CatalogDocument[],
    remove: readonly { kind: DocumentKind; name: string }[],
    auditContext: AuditContext,
  ): Promise<void>;
}

/** One answered request, for the log. */
export interface AdminAnswered {
  requestId: string;
  method: string;
  path: string;
  status: number;
  code: string | null;
  address: string;
  /** null without a valid token. */
  actor: string | null;
  durationMs: number;
  records: readonly AuditRecord[];
}

/** Health of a provider in this server's last attempts; null: never. */
export interface ProviderHealth {
  isUp: boolean;
  lastSuccessMs: number | null;
  lastFailureMs: number | null;
}

/** Authentication of people by email: passwords, second factors, sessions. Decides nothing about rights. */
export interface SignIn {
  /** Why the password must not be used, as the end of a sentence; null: it may be. Rejects with store_unavailable. */
  checkPassword(chosen: { email: string; name: string; password: string }): Promise<string | null>;
  /**
   * Replaces all former credentials: password, sessions, and the second factor unless the person keeps it. Only for a
   * password that `checkPassword` accepts. Rejects with store_unavailable.
   */
  setPassword(person: { email: string; name: string; password: string; keepsSecondFactor?: true }): Promise<void>;
  /** Rejects with store_unavailable. */
  endSessions(email: string): Promise<void>;
  /** Removes password, second factor and sessions of this email. Rejects with store_unavailable. */
  forgetPassword(email: string): Promise<void>;
  /**
   * The person who signed in with one email does so with another, which nobody claims: what is known of that one before is
   * forgotten. Rejects with store_unavailable.
   */
  changeEmail(from: string, to: string): Promise<void>;
  /** Forgets as which the person with this email signed in at issuers. Rejects with store_unavailable. */
  forgetIdentity(email: string): Promise<void>;
  /** Whether there is a password for this email. Rejects with store_unavailable. */
  hasPassword(email: string): Promise<boolean>;
  /** Counts one more under the name, over all nodes, unless there were `max` within the window. Rejects with store_unavailable. */
  count: Count;
  /** The issuers of OpenID Connect. */
  issuers: readonly Pick<OidcSettings, 'id' | 'name' | 'issuer' | 'domains'>[];
}

/** Finds enabled people by the cookie of their session. */
export interface SessionFinder {
  /** The public URL, if known. */
  publicOrigin: string | null;
  /** Whether the `cookie` header may contain a session. No query. */
  hasCookie(header: string | null, isOverTls: boolean): boolean;
  /**
   * null: the session has ended, or the person is disabled; `cookies` are to be set with the response. Rejects with
   * second_factor_required, store_unavailable, overloaded.
   */
  find(header: string | null, isOverTls: boolean): Promise<{ person: Person; cookies: readonly string[] } | null>;
}

/** An opened port, closed again unless it is kept. */
export interface AdminMove extends Disposable {
  keep(): void;
}

/** Payments through the provider that is set. */
export interface PaymentService {
  provider: 'stripe';
  checkouts: Checkouts;
  recharges: AutoRecharges;
  checker: PaymentChecker;
  sales: PlanSales;
}

/** The services that this installation is connected to. */
export interface Integrations {
  /** Where each leads, without secrets; null: it is not set. */
  places(): Promise<Record<IntegrationId, string | null>>;
  /** Why it does not work; null: it does. Bounded in time; `to` gets the test mail. Never rejects. */
  test(id: IntegrationId, to: string | null): Promise<string | null>;
}

export interface AdminDependencies {
  /** The program's version, for the OpenAPI document. */
  version: string;
  /** The principal of a token, or null if it is invalid. Rejects with store_unavailable. */
  verifyToken(token: string): Principal | null | Promise<Principal | null>;
  /**
   * Counts an invalid token. Returns the error to send instead of token_invalid once there were too many from the
   * address.
   */
  countFailure(address: string): TurnpikeError | null;
  /** Counts reads of public pages by network. */
  publicReads: Pick<NetworkCounter, 'count'>;
  /** Capabilities of a model of the current catalog. */
  capabilitiesOf(model: Model): (typeof CAPABILITIES)[number][];
  accounts: AccountStore;
  names: NameSearches;
  tokens: TokenStore;
  people: PersonStore;
  directoryGroups: DirectoryGroupStore;
  signUps: SignUpStore;
  scim: ScimStore;
  /** Queues mails; null: the service sends none. */
  mailer: Mailer | null;
  signIn: SignIn;
  /** Absent: only tokens authenticate. */
  sessions?: SessionFinder;
  /** The origin for messages; null: the same as the admin API's. */
  messagesAt(): string | null;
  audit: AuditStore;
  events: EventStore;
  destinations: DestinationStore;
  deliveries: DeliveryStore;
  ledger: Pick<LedgerGate, 'submit'> & LedgerReader & MonthStore;
  /** An audit context as co-committed rows. */
  auditRows(auditContext: AuditContext): unknown[];
  /**
   * The epoch of the store's last change, on any node; null or absent with SQLite. Rejects with store_unavailable.
   */
  readEpoch?(): Promise<number> | null;
  usage: UsageStore;
  exportSources: ExportSources;
  exports: ExportStore;
  traffic: RefusalStore & RouteHourStore;
  batches: Pick<BatchStore, 'getBatch' | 'listShownBatches' | 'sumResults' | 'listParts' | 'cancelBatch'>;
  incidents: Pick<IncidentStore, 'listOpenIncidents' | 'listEndedIncidents'>;
  codes: CodeStore;
  bills: BillStore;
  agents: AgentStore;
  savedViews: SavedViewStore;
  paymentStore: PaymentStore;
  /** null: no provider is set, and no payments are taken. */
  payments: PaymentService | null;
  catalog: AdminCatalog;
  /**
   * Opens the port of the setting `admin_listen`; null: the port of messages. Returns null if nothing changes. Throws
   * an error that says why it cannot be opened.
   */
  moveAdmin(listen: string | null): AdminMove | null;
  integrations: Integrations;
  /** The provider kinds of this version. */
  providerKinds: readonly string[];
  /** Tests a provider's connection, bounded in time. Never rejects. */
  probe(endpoint: ProviderEndpoint): Promise<ProbeResult>;
  /** A provider's models, or why they cannot be read, bounded in time; null: its kind has no list. Never rejects. */
  readOffer(endpoint: ProviderEndpoint): Promise<readonly OfferedModel[] | string | null>;
  /** null if health is not tracked. */
  health(provider: string): ProviderHealth | null;
  /** The provider's list of models; null if no entry with `*` follows it. */
  listState(provider: ProviderSettings): ListState | null;
  /** States of targets used since the start. */
  routeStates(): readonly TargetHealth[];
  vault: Vault;
  hashesOf: SecretHashes;
  clock: Clock;
  /** Forgets cached data of a key or account, after a change was stored. */
  forgetKey(keyId: number): void;
  forgetAccount(accountId: number): void;
  /** Ends the running messages of a key, for `revoke --now`. */
  endKeyMessages(keyId: number): void | Promise<void>;
  /** Resolves a host's addresses, to detect private ones. */
  lookup(hostname: string): Promise<readonly string[]>;
  /** The fault of an `auth` that the settings of this host do not allow, with its member; null: none. */
  findAuthFault(auth: Auth): Promise<{ member: string; message: string } | null>;
  /** Called for every answered request, with its audit records. */
  answered(answered: AdminAnswered): void;
  /** Logs internal failures; clients only see the request id. */
  report(requestId: string, thrown: unknown): void;
}

export interface Principal {
  /** "tok_…", "person_…", or "local" for the operator of this machine. */
  id: string;
  role: TokenRole;
  /** The account of an owner or member; null for the installation's roles. */
  accountId: number | null;
  /** The uppermost account above theirs, if any: all accounts below it share bounds. Absent: not looked up. */
  topId?: number | null;
  /** When its token expires; null: never. */
  expiresAtMs: number | null;
  /** The person of the session, or who created the token, also by another token; absent or null: nobody. */
  personId?: number | null;
}

/** Roles of the installation; only the first may make changes. */
export const installation = ['operator', 'viewer'] as const;
export const operator = ['operator'] as const;
/** Roles that may see an account's money. */
export const holders = ['operator', 'viewer', 'owner'] as const;
export const holdersWhoChange = ['operator', 'owner'] as const;
export const everyone = ['operator', 'viewer', 'owner', 'member'] as const;
export const everyoneWhoChanges = ['operator', 'owner', 'member'] as const;

/** Whether the principal sees provider costs, margins and routes. */
export function seesProviderCost(principal: Principal): boolean {
  return principal.accountId === null;
}

/** Whether the principal sees the account's balance: every role but member. */
export function seesBalance(principal: Principal): boolean {
  return principal.role !== 'member';
}

/** The account that a list is restricted to: the requested one, which the principal may see, else the principal's own. */
export function accountOf(principal: Principal, asked: number | null): number | null {
  return asked ?? principal.accountId;
}

/** The account whose bounds the principal shares: the uppermost one. null for the installation's roles. */
export function sharesBoundsOf({ topId, accountId }: Principal): number | null {
  return topId ?? accountId;
}

/** The actor whose keys alone a member sees (isKeyOf); null for other roles. */
export function makerOf(principal: Principal): string | null {
  return principal.role === 'member' ? principal.id : null;
}

type Asker = Pick<AdminDependencies, 'accounts'> & { principal: Principal };

/**
 * Whether the principal may see objects of this account, or of the installation: null. Others are reported as not found. Owners
 * also see the accounts below theirs, by the stored parents.
 */
export async function maySeeAccount({ accounts, principal }: Asker, accountId: number | null): Promise<boolean> {
  if (principal.accountId === null || principal.accountId === accountId) return true;
  if (accountId === null || principal.role !== 'owner') return false;
  const chain = await listChain(accounts, accountId);
  return chain.some(({ id }) => id === principal.accountId);
}

export async function maySeeKey(asker: Asker, key: Pick<Key, 'accountId' | 'madeBy' | 'personId'>): Promise<boolean> {
  const { role, id } = asker.principal;
  return (await maySeeAccount(asker, key.accountId)) && (role !== 'member' || isKeyOf(key, id));
}

/** The account and those above it, nearest first, as far as they can be read. Reads one row per level. */
export async function listChain(accounts: AdminDependencies['accounts'], accountId: number): Promise<Account[]> {
  const chain: Account[] = [];
  for (let next: number | null = accountId; next !== null && chain.length < bounds.accountLevelsMax; ) {
    const account: Account | null = await accounts.getAccount(next);
    if (account === null) break;
    chain.push(account);
    next = account.parentId ?? null;
  }
  return chain;
}

/** The number of objects of all accounts that share bounds with the principal's: many accounts have no more than one. */
export async function countShared(
  { accounts, principal }: Asker,
  accountId: number,
  count: (accountId: number) => Promise<number>,
): Promise<number> {
  const top = sharesBoundsOf(principal);
  if (top === null) return count(accountId);
  let sum = await count(top);
  for (const { id } of await accounts.listBelow(top)) sum += await count(id);
  return sum;
}

/** Bounds the number of undeletable objects that the tokens of a company may create. Operators are not bounded. */
export function refuseBeyond(principal: Principal, what: string, count: number, countMax: number): void {
  if (principal.accountId === null || count < countMax) return;
  throw new TurnpikeError(
    'conflict',
    `This account, or the company that it belongs to, has ${countMax} ${what} or more, including inactive ones. Only an operator can create more.`,
  );
}

export function roleRefusal(principal: Principal, roles: readonly TokenRole[]): TurnpikeError {
  return new TurnpikeError(
    'role_not_allowed',
    `The role ${principal.role} is not allowed to do this; the role must be ${roles.join(' or ')}.`,
  );
}

/**
 * Refuses a principal whose person lost their rights while the change waited for the lock: of two operators who disable each
 * other at once, one stays, and who was moved changes nothing in the former account.
 */
export async function refuseFormer({
  people,
  accounts,
  principal: { id, role, accountId, personId = null },
}: Pick<AdminDependencies, 'people' | 'accounts'> & { principal: Principal }): Promise<void> {
  if (personId === null) return;
  const person = await people.getPerson(personId);
  const isSession = id === formatId('person', personId);
  const isSame = person?.status === 'enabled' && person.role === role && person.accountId === accountId;
  if (isSession ? isSame : person !== null && (await mayHold(person, { accountId }, accounts))) return;
  throw new TurnpikeError('role_not_allowed', 'Your permissions were changed in the meantime.');
}
