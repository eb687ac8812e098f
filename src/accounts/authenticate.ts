// Authenticates a secret, or explains why not. The ledger decides what the caller may spend, and checks key and
// account again on admission.

import { type AddressRange, isInRanges, networksOf, parseAddress, parseRange } from '../base/addresses.ts';
import { bounds } from '../config/config.ts';
import { TurnpikeError } from '../errors.ts';
import type { Caller, Key } from './account.ts';
import type { AgentCaller, AgentTokenReader } from './agent-caller.ts';
import type { KeyDirectory } from './key-directory.ts';
import { hasKeyShape, KEY_CHARACTERS } from './key-secret.ts';

/** The client that sends a secret. */
export interface Sender {
  /** The `origin` header; null if the request does not come from a browser. */
  readonly origin: string | null;
  /** Read only if it is needed. */
  readonly address: string;
  /** The key sent as `authorization: Bearer`, used if that in `x-api-key` does not exist; null if absent. */
  readonly bearer: string | null;
  /** Set when the secret belongs to a key, also to one that is refused. */
  caller: { account: { id: number }; above: readonly { id: number }[]; key: { id: number } } | null;
  /** Set when the secret is a valid token of a coding agent. */
  agent: AgentCaller | null;
  /** The key that a request of a batch is made with, whose secret and address were checked when the batch was made; null: a client sends it. Work that is `done` is billed, whatever the key may do by now. */
  readonly item: { keyId: number; done: object | null } | null;
}

/** Dependencies of authentication. */
export interface Authenticator {
  keys: KeyDirectory;
  failures: NetworkCounter;
  /** Absent: coding agents cannot sign in. */
  agentTokens?: AgentTokenReader;
}

/** The caller, or why there is none. */
export type Authenticated = Caller | TurnpikeError;

/**
 * The caller that the secret belongs to; without a promise if it is cached. Otherwise key_missing, key_invalid (the same
 * for an unknown and a malformed key), key_disabled (also for a revoked one, and for the
 * key of a person who is disabled or elsewhere), key_expired, account_disabled,
 * origin_not_allowed, address_not_allowed; too_many_failures in place of key_invalid when one address fails too often.
 * Throws overloaded, and rejects with store_unavailable.
 */
export function authenticate(
  secret: string | null,
  sender: Sender,
  nowMs: number,
  authenticator: Authenticator,
): Authenticated | Promise<Authenticated> {
  if (sender.item !== null) return authenticateKey(sender.item, sender, nowMs, authenticator);
  if (secret === null)
    return new TurnpikeError(
      'key_missing',
      'x-api-key header is required: send the key there, or as Authorization: Bearer.',
    );
  const found = find(secret, sender, nowMs, authenticator) ?? findBearer(secret, sender, nowMs, authenticator);
  if (found instanceof Promise) return admitLater(found, secret, sender, nowMs, authenticator);
  return admitCaller(found, sender, nowMs, authenticator);
}

async function authenticateKey(
  { keyId, done }: NonNullable<Sender['item']>,
  sender: Sender,
  nowMs: number,
  authenticator: Authenticator,
): Promise<Authenticated> {
  const found = await authenticator.keys.findKey(keyId);
  if (found === null) return new TurnpikeError('key_invalid', NO_KEY);
  if (done === null) return admitCaller(found, sender, nowMs, authenticator);
  sender.caller = found;
  return found;
}

type Found = Authenticated | null;

async function admitLater(
  finding: Promise<Found>,
  secret: string,
  sender: Sender,
  nowMs: number,
  authenticator: Authenticator,
): Promise<Authenticated> {
  const found = (await finding) ?? (await findBearer(secret, sender, nowMs, authenticator));
  return admitCaller(found, sender, nowMs, authenticator);
}

/** Clients that need some `x-api-key` send a dummy beside the key. */
function findBearer(
  secret: string,
  sender: Sender,
  nowMs: number,
  authenticator: Authenticator,
): ReturnType<typeof find> {
  const { bearer } = sender;
  return bearer === null || bearer === secret ? null : find(bearer, sender, nowMs, authenticator);
}

/** A cached key needs no check of its format. */
function find(secret: string, sender: Sender, nowMs: number, authenticator: Authenticator): Found | Promise<Found> {
  const { keys, agentTokens } = authenticator;
  if (secret.length !== KEY_CHARACTERS) {
    const agent = agentTokens?.read(secret, nowMs) ?? null;
    if (agent === null || agent instanceof TurnpikeError) return agent;
    sender.agent = agent;
    return keys.findGrant(agent.grant);
  }
  return keys.findCached(secret) ?? (hasKeyShape(secret) ? keys.find(secret) : null);
}

function admitCaller(found: Found, sender: Sender, nowMs: number, { failures }: Authenticator): Authenticated {
  if (found instanceof TurnpikeError) return found;
  if (found === null)
    // A signed token is no guess.
    return sender.agent !== null
      ? new TurnpikeError('key_expired', SIGN_IN_ENDED)
      : (failures.count(sender.address, nowMs) ??
          new TurnpikeError('key_invalid', `${invalidWords(sender)}: no such API key.`));
  const caller = found;
  sender.caller = caller;
  const { key, account, above, person } = caller;
  if (key.status !== 'enabled') return new TurnpikeError('key_disabled', 'This API key is disabled.');
  if (key.expiresAtMs !== null && key.expiresAtMs <= nowMs)
    return new TurnpikeError('key_expired', 'This API key has expired. Create a new one.');
  if (caller.secretExpiresAtMs !== null && caller.secretExpiresAtMs <= nowMs)
    return new TurnpikeError('key_expired', sender.agent === null ? SECRET_REPLACED : SIGN_IN_ENDED);
  if (sender.agent !== null && person?.id !== sender.agent.person)
    return new TurnpikeError('key_expired', SIGN_IN_ENDED); // the key was given to somebody else
  if (person?.status === 'disabled')
    return new TurnpikeError('key_disabled', 'The person whose API key this is has been disabled.');
  if (person !== null && !isWithin(caller, person.accountId))
    return new TurnpikeError(
      'key_disabled',
      'The person whose API key this is no longer belongs to its account, or to one above it.',
    );
  if (account.status !== 'enabled')
    return new TurnpikeError('account_disabled', 'The account of this key is disabled.');
  if (above.some(({ status }) => status !== 'enabled'))
    return new TurnpikeError('account_disabled', 'An account above the account of this key is disabled.');
  // Requests without an origin do not come from a browser, so the list does not apply.
  if (key.origins !== null && sender.origin !== null && !key.origins.includes(sender.origin))
    return new TurnpikeError('origin_not_allowed', 'This API key may not be used from this origin.');
  if (key.addresses !== null && sender.item === null && !isAllowedAddress(key.addresses, sender.address))
    return new TurnpikeError('address_not_allowed', 'This API key may not be used from this address.');
  return caller;
}

/** The person or the account may have moved since the key was made. */
function isWithin({ account, above }: Caller, accountId: number | null): boolean {
  return account.id === accountId || above.some(({ id }) => id === accountId);
}

const NO_KEY = 'The API key of this batch no longer exists.';
const SECRET_REPLACED = 'This secret of the API key has been replaced. Use the new secret.';
const SIGN_IN_ENDED = 'This sign-in was ended. Sign in again.';

/** Clients recognize the wording, and advise by it: those with a bearer token are not to log in. */
function invalidWords({ bearer }: Sender): string {
  return bearer === null ? 'invalid x-api-key' : 'Invalid bearer token';
}

/** Parsed once per list in the directory. */
const rangesOfList = new WeakMap<NonNullable<Key['addresses']>, AddressRange[]>();

function isAllowedAddress(list: NonNullable<Key['addresses']>, text: string): boolean {
  let ranges = rangesOfList.get(list);
  if (ranges === undefined) {
    // An invalid range allows nothing.
    ranges = list.map(parseRange).filter((range) => range !== null);
    rangesOfList.set(list, ranges);
  }
  const address = parseAddress(text);
  return address !== null && isInRanges(address, ranges);
}

const MINUTE_MS = 60_000;

interface Window {
  startMs: number;
  count: number;
}

const tooManyFailures = (retryAfterMs: number) =>
  new TurnpikeError(
    'too_many_failures',
    'Too many failed authentication attempts from this address. Try again later.',
    { retryAfterMs },
  );

/** Counts failures, or other requests, of networks within a minute, on this node. */
export class NetworkCounter {
  readonly #refuse: (retryAfterMs: number) => TurnpikeError;
  /** Oldest window first. */
  readonly #windows = new Map<string, Window>();
  readonly #perMinuteMax: number;
  readonly #addressesMax: number;
  readonly #perSiteMax: number;

  constructor(
    perMinuteMax: number = bounds.failedAuthenticationsPerMinuteMax,
    addressesMax: number = bounds.failureAddressesMax,
    perSiteMax: number = bounds.failedAuthenticationsPerSiteMax,
    refuse: (retryAfterMs: number) => TurnpikeError = tooManyFailures,
  ) {
    this.#refuse = refuse;
    this.#perMinuteMax = perMinuteMax;
    this.#addressesMax = addressesMax;
    this.#perSiteMax = perSiteMax;
  }

  /** Counts one from the address and its site. Returns the error to send once there were too many, else null. */
  count(address: string, nowMs: number): TurnpikeError | null {
    const { subscriber, site } = networksOf(address);
    // The site first: its many addresses must not displace the windows of others.
    const limits: [string, number][] = [
      [`site ${site}`, this.#perSiteMax],
      [subscriber, this.#perMinuteMax],
    ];
    for (const [network, max] of limits) {
      const retryAfterMs = this.#countOne(network, max, nowMs);
      if (retryAfterMs !== null) return this.#refuse(retryAfterMs);
    }
    return null;
  }

  /** The time until the window ends if there were too many; else null. */
  #countOne(network: string, max: number, nowMs: number): number | null {
    const window = this.#windows.get(network);
    if (window === undefined || nowMs - window.startMs >= MINUTE_MS) {
      this.#open(network, nowMs);
      return null;
    }
    window.count++;
    return window.count <= max ? null : window.startMs + MINUTE_MS - nowMs;
  }

  #open(network: string, nowMs: number): void {
    this.#windows.delete(network);
    if (this.#windows.size >= this.#addressesMax) {
      const oldest = this.#windows.keys().next().value;
      if (oldest !== undefined) this.#windows.delete(oldest);
    }
    this.#windows.set(network, { startMs: nowMs, count: 1 });
  }
}

/** Counts reads of public pages. */
export function makePublicReads(): NetworkCounter {
  const { publicReadsPerMinuteMax, publicReadsPerSiteMax, failureAddressesMax } = bounds;
  return new NetworkCounter(publicReadsPerMinuteMax, failureAddressesMax, publicReadsPerSiteMax, tooManyReads);
}

const tooManyReads = (retryAfterMs: number) =>
  new TurnpikeError('requests_rate_exceeded', 'Too many requests from this address. Try again later.', {
    retryAfterMs,
  });
