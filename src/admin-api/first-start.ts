// What a new installation begins with, so that it answers a message before anybody has configured
// anything: the sandbox, a demonstration account with credit, one key for it, and the invitation of whoever operates it.

import {
  type Account,
  type AccountTerms,
  type FirstCredit,
  type Key,
  type KeyTerms,
  makeKeySecret,
  makeLinkSecret,
  NO_KEY_LIMITS,
  type Person,
} from '../accounts/accounts.ts';
import { newNumber } from '../base/ids.ts';
import { NANO_PER_USD } from '../base/money.ts';
import { bounds } from '../config.ts';
import type { Secret, Vault } from '../secrets/secrets.ts';

const DEMO_CREDIT = 5 * NANO_PER_USD;

export interface DemoAccount {
  account: Account;
  accountTerms: AccountTerms;
  credit: FirstCredit;
  key: Key;
  keyTerms: KeyTerms;
  secretHash: string;
  /** Shown once. */
  secret: Secret;
}

/** The account `demo` in the group `sandbox`, with 5.00 of credit and one key. Nothing is stored here. */
export function makeDemoAccount(vault: Vault, nowMs: number): DemoAccount {
  const { secret, prefix } = makeKeySecret();
  const accountId = newNumber();
  return {
    account: { id: accountId, name: 'demo', groups: ['sandbox'], status: 'enabled', createdAtMs: nowMs },
    accountTerms: { enabled: true, creditLine: 0, allowance: null, allowancePeriod: 'total' },
    credit: { amount: DEMO_CREDIT, kind: 'promotion', reference: 'first-start', note: 'credit of the first start' },
    key: {
      id: newNumber(),
      accountId,
      name: 'demo',
      prefix,
      groups: null,
      models: null,
      status: 'enabled',
      expiresAtMs: null,
      origins: null,
      addresses: null,
      madeBy: null,
      createdAtMs: nowMs,
    },
    keyTerms: { status: 'enabled', expiresAtMs: null, ...NO_KEY_LIMITS },
    secretHash: vault.hash(secret.reveal()),
    secret,
  };
}

/** Somebody who is to operate the installation, with a link to say who they are. Nothing is stored here. */
export function makeFirstOperator(vault: Vault, nowMs: number): { person: Person; linkHash: string; secret: Secret } {
  const secret = makeLinkSecret();
  const person: Person = {
    id: newNumber(),
    accountId: null,
    role: 'operator',
    email: null,
    name: '',
    status: 'invited',
    linkExpiresAtMs: nowMs + bounds.linkMs,
    madeBy: 'start',
    createdAtMs: nowMs,
  };
  return { person, linkHash: vault.hash(secret.reveal()), secret };
}

/** Where a one-time link is accepted. Its secret stands behind the #, which no browser sends to a server or in a referrer. */
export function invitationLink(url: string, secret: Secret): string {
  return `${url}/console/invitation#${secret.reveal()}`;
}

/** A command that answers a message when it is pasted. */
export function firstCurl(url: string, secret: Secret): string {
  const body = '{"model":"sandbox-echo","max_tokens":100,"messages":[{"role":"user","content":"Hello, Turnpike"}]}';
  return `curl ${url}/v1/messages -H "x-api-key: ${secret.reveal()}" -H "content-type: application/json" -d '${body}'`;
}
