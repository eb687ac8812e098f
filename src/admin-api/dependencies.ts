// What the admin API needs of the rest of the service, put together by the root. It holds no
// state of its own but the order in which changes are made.

import type { AccountStore, PersonStore, TokenStore } from '../accounts/accounts.ts';
import type { AuditRecord, AuditStore, Trail } from '../audit/audit.ts';
import type { Clock } from '../base/clock.ts';
import type { CatalogDocument, Catalogue, DocumentKind } from '../catalog/catalog.ts';
import type { TurnpikeError } from '../errors.ts';
import type { LedgerGate, LedgerReader, UsageStore } from '../ledger/ledger.ts';
import type { ProbeResult, ProviderEndpoint } from '../providers/providers.ts';
import type { Vault } from '../secrets/secrets.ts';
import type { Principal } from './principal.ts';

/** The catalogue in force, and the documents that it was built from. */
export interface AdminCatalog {
  current(): Catalogue;
  documents(): Promise<CatalogDocument[]>;
  /** Stores in one transaction and puts the new snapshot in force before it resolves. */
  save(
    put: readonly CatalogDocument[],
    remove: readonly { kind: DocumentKind; name: string }[],
    trail: Trail,
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
  /** Null where nobody showed a token that opens anything. */
  actor: string | null;
  durationMs: number;
  records: readonly AuditRecord[];
}

/** How a provider did in the last attempts of this server; null for never. */
export interface ProviderHealth {
  isUp: boolean;
  lastSuccessMs: number | null;
  lastFailureMs: number | null;
}

/** How one model of a provider does, asked for with one of its credentials, on this server. */
export interface RouteState {
  provider: string;
  /** The credential's name; null where the provider takes none. */
  credential: string | null;
  /** The model's name at the provider. */
  model: string;
  state: (typeof ROUTE_STATES)[number];
  /** When an open circuit is tried again, or a rest ends; null at present. */
  untilMs: number | null;
  failuresInARow: number;
  inFlight: number;
  lastFailure: { kind: string; atMs: number } | null;
}

export const ROUTE_STATES = ['ready', 'open', 'half_open', 'resting'] as const;

/** How people prove who they are, by their e-mail: passwords, second factors, sessions. Who may sign in, and what they may do, is not its. */
export interface SignIn {
  /** What they had before opens nothing any more: password, second factor, sessions. Rejects with store_unavailable. */
  setPassword(person: { email: string; name: string; password: string }): Promise<void>;
  /** Rejects with store_unavailable. */
  endSessions(email: string): Promise<void>;
  /** Whatever password this e-mail has opens nothing any more, nor its second factor and sessions. Rejects with store_unavailable. */
  forgetPassword(email: string): Promise<void>;
  /** What people know the provider of OpenID Connect by; null where there is none. */
  oidcName: string | null;
}

/** Who is signed in by a cookie. Whether they are let in is asked of the people. */
export interface SessionFinder {
  /** By which people reach the service, where that is known. */
  publicOrigin: string | null;
  /** Whether the header `cookie` may be of somebody who is signed in. No look-up. */
  hasCookie(header: string | null, isOverTls: boolean): boolean;
  /** `cookies` are to be set with the answer. Rejects with store_unavailable, overloaded. */
  find(header: string | null, isOverTls: boolean): Promise<{ email: string; cookies: readonly string[] } | null>;
}

/** A port that was opened, and is closed again unless it is kept. */
export interface AdminMove extends Disposable {
  /** The admin API answers there from now on, and where it was before no longer. */
  keep(): void;
}

export interface AdminDependencies {
  /** The version of this program, for the OpenAPI document. */
  version: string;
  /** Who shows this token, or null when it opens nothing. Rejects with store_unavailable when that cannot be told. */
  verifyToken(token: string): Principal | null | Promise<Principal | null>;
  /** Counts a token that opens nothing. What to answer in place of token_invalid once there were too many from the address. */
  countFailure(address: string): TurnpikeError | null;
  accounts: AccountStore;
  tokens: TokenStore;
  people: PersonStore;
  signIn: SignIn;
  /** Left out: only tokens open anything. */
  sessions?: SessionFinder;
  /** The origin that messages are sent to, where it is not that of the admin API; null: where that is. */
  messagesAt(): string | null;
  audit: AuditStore;
  ledger: Pick<LedgerGate, 'submit'> & LedgerReader;
  /** A trail as rows that go alongside a bundle of the ledger. */
  trailRows(trail: Trail): unknown[];
  /**
   * The epoch of the last change in the store, of whichever node; null for a store of one process, as where it is left out.
   * Rejects with store_unavailable.
   */
  readEpoch?(): Promise<number> | null;
  usage: UsageStore;
  catalog: AdminCatalog;
  /**
   * Opens the port that the setting `admin_listen` names, null: that of messages. Null when nothing changes by it. Throws an
   * error that says why it cannot be opened.
   */
  moveAdmin(listen: string | null): AdminMove | null;
  /** The kinds of providers that the service knows. */
  providerKinds: readonly string[];
  /** Asks a provider whether it is there, bounded in time. Never rejects. */
  probe(endpoint: ProviderEndpoint): Promise<ProbeResult>;
  /** Null where nobody watches. */
  health(provider: string): ProviderHealth | null;
  /** What was used since the start, of all providers. */
  routeStates(): readonly RouteState[];
  vault: Vault;
  clock: Clock;
  /** Drops what this node remembers of a key or an account, after a change was stored. */
  forgetKey(keyId: number): void;
  forgetAccount(accountId: number): void;
  /** Ends the running messages of a key, for `revoke --now`. */
  endKeyMessages(keyId: number): void | Promise<void>;
  /** Resolves a host's addresses, to tell private ones. */
  lookup(hostname: string): Promise<readonly string[]>;
  /** Told of every request when it was answered, with the audit records that it left. */
  answered(answered: AdminAnswered): void;
  /** The operator's log of what failed inside; callers only see the request id. */
  report(requestId: string, thrown: unknown): void;
}
