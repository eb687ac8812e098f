// Sign-in of coding agents by the device flow (RFC 8628): the answers of /oauth/…. What Claude Code expects of them beyond the RFC is
// its gateway protocol, https://code.claude.com/docs/en/claude-apps-gateway (2026-08-22), and what its release 2.1.332 does.

import type { AccountStore, AgentCaller, AgentClient, Person, PersonStore } from '../accounts/accounts.ts';
import type { AuditContext } from '../audit/audit.ts';
import { networksOf } from '../base/addresses.ts';
import type { Clock } from '../base/clock.ts';
import { type Count, countNetworks } from '../base/fair-limits.ts';
import { formatId } from '../base/ids.ts';
import { bounds } from '../config/config.ts';
import { TurnpikeError } from '../errors.ts';
import { hashSecret, type Vault } from '../secrets/secrets.ts';
import {
  agentTokenReader,
  isRefreshTokenOf,
  namedByRefreshToken,
  refreshTokenOf,
  signAccessToken,
} from './agent-token.ts';
import { type AgentGrant, type AgentStore, type DeviceCode, makeDeviceCode } from './grant.ts';

/** The JSON of an OAuth answer. */
export interface OAuthAnswer {
  status: number;
  body: object;
}

export interface AgentSignInParts {
  store: AgentStore;
  accounts: Pick<AccountStore, 'getKey' | 'getAccount'>;
  people: Pick<PersonStore, 'getPerson'>;
  vault: Vault;
  clock: Clock;
  settings(): { agentSignIn: 'off' | 'on'; agentTokenMinutes: number; agentNotice: string | null };
  /** Counts over all nodes. */
  count: Count;
  /** The names of a person's directory groups. */
  groupsOf(person: Person): Promise<readonly string[]>;
  /** A key's grant ended: nothing of it may stay cached. */
  forgetKey(key: number): void;
  /** Whether a write failed because another one came first. */
  isOutpaced(thrown: unknown): boolean;
}

type Form = Readonly<Record<string, string | undefined>>;

/** One request to these endpoints. */
interface Asked {
  /** The origin that the client used. */
  base: string;
  address: string;
  requestId: string;
}

const DEVICE_GRANT = 'urn:ietf:params:oauth:grant-type:device_code';
const SURFACES: ReadonlyMap<string, AgentClient> = new Map([
  ['claude_code', 'claude-code'],
  ['codex', 'codex'],
]);

export class AgentSignIn {
  readonly #parts: AgentSignInParts;
  /** When codes were last polled at this node, and how long their devices are to wait; oldest first. */
  readonly #polls = new Map<string, { atMs: number; intervalMs: number }>();

  constructor(parts: AgentSignInParts) {
    this.#parts = parts;
  }

  /** Throws route_not_found while it is off. */
  requireOn(): void {
    if (this.#parts.settings().agentSignIn === 'off')
      throw new TurnpikeError('route_not_found', 'Sign-in of coding agents is off here: the setting agent_sign_in.');
  }

  metadata(base: string): object {
    return {
      issuer: base,
      device_authorization_endpoint: `${base}/oauth/device_authorization`,
      token_endpoint: `${base}/oauth/token`,
      revocation_endpoint: `${base}/oauth/revoke`,
      grant_types_supported: [DEVICE_GRANT, 'refresh_token'],
      response_types_supported: [],
      token_endpoint_auth_methods_supported: ['none'],
      scopes_supported: ['openid', 'profile', 'email'],
      gateway_protocol_version: 1,
    };
  }

  /** Limited by network, and in all by the number of codes that wait. */
  async authorizeDevice(form: Form, { base, address }: Asked): Promise<OAuthAnswer> {
    const { store, clock, count, settings } = this.#parts;
    const client = SURFACES.get(form['surface'] ?? 'claude_code');
    if (client === undefined) return refusal('invalid_request', 'surface: must be claude_code or codex');
    const { deviceCodesPerAddressMax: least, deviceCodeWindowMs, deviceCodesMax } = bounds;
    const limits = { subscriber: least, site: least * 4, region: least * 16 };
    const taken = await countNetworks(
      count,
      'device',
      address,
      limits,
      { site: least, region: least },
      deviceCodeWindowMs,
    );
    const nowMs = clock.nowMs();
    if (!taken.isAllowed || (await store.countDeviceCodes(nowMs)) >= taken.shareOf(deviceCodesMax))
      return { ...refusal('slow_down', 'Too many sign-ins from this network. Try again later.'), status: 429 };
    const { secret, code } = makeDeviceCode(client, networksOf(address).subscriber, nowMs, bounds.deviceCodeLifeMs);
    await store.createDeviceCode({ ...code, address }, nowMs);
    const { agentNotice } = settings();
    return {
      status: 200,
      body: {
        device_code: secret,
        user_code: code.userCode,
        verification_uri: `${base}/device`,
        verification_uri_complete: `${base}/device?user_code=${code.userCode}`,
        expires_in: bounds.deviceCodeLifeMs / 1_000,
        interval: bounds.devicePollMs / 1_000,
        ...(agentNotice !== null && { login_notice: agentNotice }),
      },
    };
  }

  token(form: Form, asked: Asked): Promise<OAuthAnswer> | OAuthAnswer {
    if (form['grant_type'] === DEVICE_GRANT) return this.#poll(form['device_code'] ?? '', asked);
    if (form['grant_type'] === 'refresh_token') return this.#refresh(form['refresh_token'] ?? '', asked);
    return refusal('unsupported_grant_type', `grant_type: must be ${DEVICE_GRANT} or refresh_token`);
  }

  /** Both tokens of a grant end it. An unknown token is answered alike (RFC 7009). */
  async revoke(form: Form, asked: Asked): Promise<OAuthAnswer> {
    const { store, vault, clock } = this.#parts;
    const token = form['token'] ?? '';
    const named = namedByRefreshToken(token);
    const read = agentTokenReader(vault).read(token, clock.nowMs());
    const id = named?.grant ?? (read === null || read instanceof TurnpikeError ? null : read.grant);
    const grant = id === null ? null : await store.getAgentGrant(id);
    const isTheirs = grant !== null && (named === null || isRefreshTokenOf(vault, grant, named.generation, token));
    if (isTheirs && grant.status === 'enabled') await this.#end(grant, 'sign_out', asked);
    return { status: 200, body: {} };
  }

  async #poll(deviceCode: string, asked: Asked): Promise<OAuthAnswer> {
    const { store, clock } = this.#parts;
    const hash = hashSecret(deviceCode);
    const code = await store.findDeviceCode(hash);
    const nowMs = clock.nowMs();
    if (code === null || code.expiresAtMs <= nowMs)
      return refusal('expired_token', 'The code has expired or was used.');
    if (this.#isTooEarly(hash, nowMs)) return refusal('slow_down', 'The device asks too often.');
    if (code.status === 'pending') return refusal('authorization_pending', 'Nobody has approved the code yet.');
    if (code.status === 'denied') return refusal('access_denied', 'The sign-in was denied.');
    const grant = code.grantId === null ? null : await store.getAgentGrant(code.grantId);
    if (grant === null) return refusal('expired_token', 'The code has expired or was used.');
    const isTaken = await this.#write(() => store.takeDeviceCode(code));
    this.#polls.delete(hash);
    if (!isTaken) return refusal('expired_token', 'The code has expired or was used.');
    const caller = await this.#callerOf(grant);
    if (caller === null) return refusal('access_denied', 'The person, account or key is disabled.');
    return this.#pair(grant, caller, asked, caller.email);
  }

  /** RFC 8628: five seconds more for each request that comes too early. */
  #isTooEarly(hash: string, nowMs: number): boolean {
    const last = this.#polls.get(hash);
    this.#polls.delete(hash);
    const isEarly = last !== undefined && nowMs - last.atMs < last.intervalMs - bounds.devicePollSlackMs;
    const intervalMs = (last?.intervalMs ?? bounds.devicePollMs) + (isEarly ? bounds.devicePollMs : 0);
    this.#polls.set(hash, { atMs: nowMs, intervalMs });
    const [oldest] = this.#polls.keys();
    if (this.#polls.size > bounds.deviceCodesMax && oldest !== undefined) this.#polls.delete(oldest);
    return isEarly;
  }

  /**
   * The same token gets the same pair again for a while: processes of a client share one file and do not wait for each other. A token
   * that is used later ends the grant, because somebody else may have it (RFC 9700, section 4.14).
   */
  async #refresh(token: string, asked: Asked): Promise<OAuthAnswer> {
    const { store, vault, clock } = this.#parts;
    const named = namedByRefreshToken(token);
    if (named === null) return INVALID_GRANT;
    for (let tries = 0; tries < bounds.changeTriesMax; tries++) {
      const grant = await store.getAgentGrant(named.grant);
      const nowMs = clock.nowMs();
      if (grant === null || !isRefreshTokenOf(vault, grant, named.generation, token)) return INVALID_GRANT;
      if (grant.status !== 'enabled' || grant.expiresAtMs <= nowMs) return INVALID_GRANT;
      const isPast = named.generation < grant.generation;
      const isRecent =
        named.generation === grant.generation - 1 && nowMs - grant.refreshedAtMs < bounds.refreshRepeatMs;
      if (isPast && !isRecent) {
        await this.#end(grant, 'token_reuse', asked);
        return INVALID_GRANT;
      }
      const caller = await this.#callerOf(grant);
      if (caller === null) return INVALID_GRANT;
      if (isPast) return this.#pair(grant, caller, asked);
      const next = { ...grant, generation: grant.generation + 1, refreshedAtMs: nowMs };
      if (await this.#write(() => store.refreshAgentGrant(next))) return this.#pair(next, caller, asked);
    }
    throw new TurnpikeError('store_unavailable', 'Too many refreshes of this sign-in at once. Try again.');
  }

  /** The person as they are now; null if they, their account or the key may no longer send messages. */
  async #callerOf({ id, personId, accountId, keyId, client }: AgentGrant): Promise<AgentCaller | null> {
    const { people, accounts, groupsOf, clock } = this.#parts;
    const [person, account, key] = await Promise.all([
      people.getPerson(personId),
      accounts.getAccount(accountId),
      accounts.getKey(keyId),
    ]);
    if (person?.status !== 'enabled' || person.accountId !== accountId) return null;
    if (account?.status !== 'enabled' || key?.status !== 'enabled') return null;
    if (key.personId !== personId) return null; // it was given to somebody else
    if (key.expiresAtMs !== null && key.expiresAtMs <= clock.nowMs()) return null;
    const { email, name } = person;
    return { grant: id, person: personId, client, email, name, groups: await groupsOf(person) };
  }

  /** Made of the grant alone, so that repetitions are equal. */
  #pair(grant: AgentGrant, caller: AgentCaller, { base }: Asked, email: string | null = null): OAuthAnswer {
    const { vault, settings, clock } = this.#parts;
    const { generation, refreshedAtMs: issuedAtMs } = grant;
    const expiresAtMs = Math.min(issuedAtMs + settings().agentTokenMinutes * 60_000, grant.expiresAtMs);
    return {
      status: 200,
      body: {
        access_token: signAccessToken(vault, { caller, generation, issuer: base, issuedAtMs, expiresAtMs }),
        token_type: 'Bearer',
        expires_in: Math.max(1, Math.floor((expiresAtMs - clock.nowMs()) / 1_000)),
        refresh_token: refreshTokenOf(vault, grant, generation),
        ...(email !== null && { email }),
      },
    };
  }

  async #end(grant: AgentGrant, reason: string, { address, requestId }: Asked): Promise<void> {
    const { store, clock, forgetKey } = this.#parts;
    const atMs = clock.nowMs();
    const actor = { id: formatId('person', grant.personId), role: 'service' as const, address, requestId };
    const object = formatId('agent', grant.id);
    const [before, after] = [{ status: 'enabled' }, { status: 'revoked', reason }];
    const record = { atMs, actor, action: 'agent.revoke', object, account: grant.accountId, before, after };
    const auditContext: AuditContext = { audit: [record], creation: null };
    await this.#write(() => store.revokeAgentGrant({ ...grant, status: 'revoked', expiresAtMs: atMs }, auditContext));
    forgetKey(grant.keyId);
  }

  /** False if another change came first. */
  async #write(write: () => Promise<void>): Promise<boolean> {
    try {
      await write();
      return true;
    } catch (thrown) {
      if (this.#parts.isOutpaced(thrown)) return false;
      throw thrown;
    }
  }
}

function refusal(error: string, error_description: string): OAuthAnswer {
  return { status: 400, body: { error, error_description } };
}

const INVALID_GRANT: OAuthAnswer = {
  status: 401,
  body: { error: 'invalid_grant', error_description: 'The sign-in has ended. Sign in again.' },
};

export type { DeviceCode };
