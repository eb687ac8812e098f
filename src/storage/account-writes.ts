// Changes of accounts, keys and the catalog as bundles for the ledger: limits are ledger operations, the rest are
// co- committed rows. The same for both databases.

import type {
  Account,
  AccountStore,
  AccountTerms,
  DirectoryGroupStore,
  EndedKey,
  FirstCredit,
  Key,
  KeyTerms,
  Person,
  PersonStore,
  ScimChange,
  ScimStore,
  SignUpStore,
  TokenStore,
} from '../accounts/accounts.ts';
import type { AuditContext, RememberedCreation } from '../audit/audit.ts';
import { formatId } from '../base/ids.ts';
import type { BillSource } from '../bills/bills.ts';
import type { CatalogDocument, CatalogStore } from '../catalog/catalog.ts';
import { bounds } from '../config/config.ts';
import type { Destination, MailStore } from '../delivery/delivery.ts';
import { TurnpikeError } from '../errors.ts';
import type { ExportSchedule } from '../exports/exports.ts';
import type { Answer, Bundle, LedgerGate, Operation, SetPerson } from '../ledger/ledger.ts';
import type { InstallationStore } from '../secrets/secrets.ts';
import type { SampleStore } from '../usage/usage.ts';
import {
  eventOfSignUp,
  eventRows,
  eventsOfKey,
  eventsOfPerson,
  eventsOfPrices,
  eventsOfToken,
} from './change-events.ts';
import type { CoCommittedRow } from './co-committed.ts';
import type { MailReads } from './mail-rows.ts';

type AccountWrites = Pick<
  AccountStore,
  'createAccount' | 'updateAccount' | 'createKey' | 'updateKey' | 'endKeys' | 'rotateKey'
>;

export interface FirstAccount {
  account: Account;
  accountTerms: AccountTerms;
  credit: FirstCredit;
  key: Key;
  keyTerms: KeyTerms;
  secretHash: string;
}

/** The writing half of AccountStore, over a gate of the ledger. */
export function accountWrites(gate: LedgerGate): AccountWrites {
  return {
    createAccount(account, terms, credit, auditContext) {
      const operations = [setAccount(account, terms)];
      if (credit !== null && credit.amount !== 0) operations.push(firstCredit(account, credit));
      return submit(gate, operations, [{ table: 'accounts', account }], auditContext);
    },
    updateAccount: (account, terms, auditContext) =>
      submit(gate, [setAccount(account, terms)], [{ table: 'accounts', account }], auditContext),
    createKey(key, secretHash, terms, auditContext) {
      const events = eventRows(eventsOfKey(key, auditContext));
      return submit(gate, [setKey(key, terms)], [...newKeyRows(key, secretHash), ...events], auditContext);
    },
    updateKey(key, terms, auditContext) {
      const events = eventRows(eventsOfKey(key, auditContext));
      return submit(gate, [setKey(key, terms)], [{ table: 'keys', key }, ...events], auditContext);
    },
    endKeys: (ended, auditContext) =>
      submit(gate, ended.map(setEndedKey), endedKeyRows(ended, auditContext), auditContext),
    rotateKey(key, secretHash, graceEndsAtMs, auditContext) {
      const secret: CoCommittedRow = { table: 'key_secrets', keyId: key.id, secretHash, othersEndAtMs: graceEndsAtMs };
      const events = eventRows(eventsOfKey(key, auditContext));
      return submit(gate, [], [{ table: 'keys', key }, secret, ...events], auditContext);
    },
  };
}

/** The writing half of TokenStore. */
export function tokenWrites(gate: LedgerGate): Pick<TokenStore, 'createToken' | 'updateToken'> {
  return {
    createToken(token, secretHash, auditContext) {
      const events = eventRows(eventsOfToken(token, auditContext));
      return submit(gate, [], [{ table: 'tokens', token, secretHash }, ...events], auditContext);
    },
    updateToken: (token, auditContext) =>
      submit(gate, [], [{ table: 'tokens', token, secretHash: null }], auditContext),
  };
}

/** The writing half of PersonStore. */
export function personWrites(gate: LedgerGate): Pick<PersonStore, 'createPerson' | 'updatePerson' | 'setBudget'> {
  return {
    createPerson(person, linkHash, auditContext, former = null) {
      const freed: CoCommittedRow[] =
        former === null ? [] : [{ table: 'people', person: former, link: { hash: null } }];
      const operations = former === null ? setPerson(person) : [...setPerson(former), ...setPerson(person)];
      const events = eventRows(eventsOfPerson(person, auditContext));
      const created: CoCommittedRow = { table: 'people', person, link: { hash: linkHash } };
      return submit(gate, operations, [...freed, created, ...events], auditContext);
    },
    updatePerson(person, link, auditContext, ended = []) {
      const events = eventRows(eventsOfPerson(person, auditContext));
      const rows: CoCommittedRow[] = [
        { table: 'people', person, link },
        ...events,
        ...endedKeyRows(ended, auditContext),
      ];
      return submit(
        gate,
        [...setPerson(person), ...leaveAccounts(person, ended), ...ended.map(setEndedKey)],
        rows,
        auditContext,
      );
    },
    setBudget(person, budget, auditContext) {
      const operations = setPerson(person).map((operation) => ({ ...operation, budget }));
      // The row of the person tells other nodes of the change.
      return submit(gate, operations, [{ table: 'people', person, link: 'as it is' }], auditContext);
    },
  };
}

/** The writing half of DirectoryGroupStore. */
export function directoryWrites(gate: LedgerGate): Pick<DirectoryGroupStore, 'saveDirectoryGroup'> {
  return {
    saveDirectoryGroup: (group, auditContext) => submit(gate, [], [{ table: 'directory_groups', group }], auditContext),
  };
}

/** The writing half of CatalogStore. */
export function catalogWrites(gate: LedgerGate): Pick<CatalogStore, 'saveCatalog'> {
  return {
    saveCatalog(put, remove, auditContext) {
      const kept = put.map((document: CatalogDocument) => ({ table: 'catalog' as const, put: document }));
      const removed = remove.map((name) => ({ table: 'catalog' as const, remove: name }));
      return submit(gate, [], [...kept, ...removed, ...eventRows(eventsOfPrices(auditContext))], auditContext);
    },
  };
}

/** The writing half of InstallationStore. */
export function installationWrites(gate: LedgerGate): Pick<InstallationStore, 'writeInstallation'> {
  return {
    writeInstallation: (name, value, replaces = null) =>
      submit(gate, [], [{ table: 'installation', name, value, replaces }]),
  };
}

/** The writing half of SampleStore. */
export function sampleWrites(gate: LedgerGate): Pick<SampleStore, 'saveSamples'> {
  return {
    saveSamples(learned) {
      const rows = learned.map(([model, document]) => ({ table: 'learned' as const, model, document }));
      return submit(gate, [], rows);
    },
  };
}

/** The writing half of MailStore. */
export function mailWrites(gate: LedgerGate): Omit<MailStore, keyof MailReads> {
  const put = (row: CoCommittedRow) => submit(gate, [], [row]);
  return {
    mailRow: (mail): CoCommittedRow => ({ table: 'mails', put: mail }),
    takeMail: ({ id, tries }, nextAtMs) => put({ table: 'mails', take: { id, tries, nextAtMs } }),
    removeMail: (id) => put({ table: 'mails', remove: id }),
    putMail: (mail) => put({ table: 'mails', put: mail }),
    putLink: (link) => put({ table: 'mailed_links', put: link }),
  };
}

/** The writing half of ScimStore. */
export function scimWrites(gate: LedgerGate): Pick<ScimStore, 'writeScim' | 'scimRows'> {
  const scimRows = (changes: readonly ScimChange[]): CoCommittedRow[] =>
    changes.map((scim) => ({ table: 'scim', scim }));
  return { scimRows, writeScim: (changes, auditContext) => submit(gate, [], scimRows(changes), auditContext) };
}

/** The writing half of SignUpStore. */
export function signUpWrites(gate: LedgerGate): Omit<SignUpStore, keyof MailReads> {
  return {
    createSignUp(signUp, link, auditContext) {
      const { account, terms, owner, credit: amount } = signUp;
      const { createdAtMs: nowMs } = account;
      const credit: FirstCredit = { amount, kind: 'promotion', reference: `sign-up:${owner.id}`, note: 'sign-up' };
      return submit(
        gate,
        [setAccount(account, terms), ...setPerson(owner), ...(amount > 0 ? [firstCredit(account, credit)] : [])],
        [
          { table: 'mailed_links', use: { link, nowMs } },
          { table: 'accounts', account },
          { table: 'people', person: owner, link: { hash: null } },
          { table: 'sign_ups', put: signUp },
          ...eventRows([eventOfSignUp(signUp)]),
        ],
        auditContext,
      );
    },
    useLink: (link, nowMs, auditContext) =>
      submit(gate, [], [{ table: 'mailed_links', use: { link, nowMs } }], auditContext),
    restoreLink: (link, auditContext) => submit(gate, [], [{ table: 'mailed_links', put: link }], auditContext),
  };
}

const NO_AUDIT: AuditContext = { audit: [], creation: null };

/** The co-committed rows of a change's audit context. */
export function auditRows({ audit, creation, since = null, rows: more = [] }: AuditContext): CoCommittedRow[] {
  const rows: CoCommittedRow[] = audit.map((record) => ({ table: 'audit_records', record }));
  if (creation !== null) {
    const forgetUntilMs = creation.atMs - bounds.creationRememberedMs;
    rows.push({ table: 'creations', creation, forgetUntilMs });
  }
  rows.push(...(more as CoCommittedRow[]));
  if (since !== null) rows.push({ table: 'changes', since });
  return rows;
}

function newKeyRows(key: Key, secretHash: string): CoCommittedRow[] {
  return [
    { table: 'keys', key },
    { table: 'key_secrets', keyId: key.id, secretHash, othersEndAtMs: null },
  ];
}

/** An account with its first credit and key, in one transaction. */
export function writeFirstAccount(gate: LedgerGate, first: FirstAccount, auditContext: AuditContext): Promise<void> {
  const { account, key } = first;
  return submit(
    gate,
    [setAccount(account, first.accountTerms), firstCredit(account, first.credit), setKey(key, first.keyTerms)],
    [{ table: 'accounts', account }, ...newKeyRows(key, first.secretHash)],
    auditContext,
  );
}

function setAccount(account: Account, terms: AccountTerms): Operation {
  const { parentId: parent = null, paysFrom = 'own' } = account;
  return {
    kind: 'set-account',
    account: account.id,
    terms: { ...terms, company: { ...terms.company, parent, paysFrom } },
  };
}

/** The operation for a key's limits and person. */
export function setKey(key: Key, terms: KeyTerms): Operation {
  return { kind: 'set-key', key: key.id, account: key.accountId, terms: { ...terms, person: key.personId ?? null } };
}

/** People of the installation have no keys of their own. */
function setPerson({ id, accountId, status }: Person): SetPerson[] {
  if (accountId === null) return [];
  return [{ kind: 'set-person', person: id, account: accountId, enabled: status !== 'disabled' }];
}

/** A person who moves from an account to the installation has no keys there: the ledger refuses any that are left. */
function leaveAccounts({ id, accountId }: Person, ended: readonly EndedKey[]): Operation[] {
  if (accountId !== null) return [];
  const former = new Set(ended.map(({ key }) => key.accountId));
  return [...former].map((account) => ({ kind: 'set-person', person: id, account, enabled: false }));
}

function setEndedKey({ key, terms }: EndedKey): Operation {
  return setKey(key, terms);
}

/** The rows of ended keys, with the event of each: its audit record is one of several. */
function endedKeyRows(ended: readonly EndedKey[], { audit }: AuditContext): CoCommittedRow[] {
  const records = new Map(audit.map((record) => [record.object, record]));
  return ended.flatMap(({ key }): CoCommittedRow[] => {
    const record = records.get(formatId('key', key.id));
    const events = record === undefined ? [] : eventsOfKey(key, { audit: [record], creation: null });
    return [{ table: 'keys', key }, ...eventRows(events)];
  });
}

function firstCredit(account: Account, credit: FirstCredit): Operation {
  return {
    kind: 'credit',
    account: account.id,
    amount: credit.amount,
    source: credit.kind,
    reference: credit.reference,
    note: credit.note,
  };
}

/** With the rows of the audit context. Throws an error for the client if the bundle is refused. */
export async function submit(
  gate: LedgerGate,
  operations: Operation[],
  rows: readonly CoCommittedRow[],
  auditContext: AuditContext = NO_AUDIT,
): Promise<void> {
  const bundle: Bundle = { operations, coCommitted: [...rows, ...auditRows(auditContext)] };
  const refused = (await gate.submit(bundle)).filter((answer) => !answer.ok);
  // The others are refused only because of this one.
  const cause = refused.find((answer) => answer.reason !== 'bundle_refused') ?? refused[0];
  if (cause !== undefined) throw asError(cause, operations);
}

function asError(answer: Extract<Answer, { ok: false }>, operations: readonly Operation[]): TurnpikeError {
  if (answer.reason === 'beyond_maximum' && operations.every(({ kind }) => kind === 'set-person'))
    return new TurnpikeError(
      'conflict',
      `The person has budgets of their own at ${bounds.accountChainMax} accounts: return to the default at one of them first.`,
    );
  switch (answer.reason) {
    case 'below_available':
      return new TurnpikeError('invalid_request', 'credit_line: the account owes or holds more than this would allow');
    case 'beyond_maximum':
      return new TurnpikeError(
        'invalid_request',
        'credit_line: balance and credit line together must not exceed 9007199.254740991 USD',
      );
    case 'unknown_account':
      return new TurnpikeError('object_not_found', 'There is no such account.');
    case 'wrong_parent':
      return new TurnpikeError(
        'invalid_request',
        'parent: must be an existing account that is not below this one, with at most three levels in all',
      );
    case 'unknown_person':
      return new TurnpikeError('object_not_found', 'There is no such person.');
    case 'unknown_key':
      return new TurnpikeError('object_not_found', 'There is no such key.');
    default:
      return new TurnpikeError(
        'conflict',
        'The change was refused because another change of the same request was refused.',
      );
  }
}

/** The writes of a start under a new secret. */
export interface SecretChange {
  /** With their credentials resealed. */
  documents: readonly CatalogDocument[];
  creations: readonly RememberedCreation[];
  /** The secrets of queued mails, resealed. */
  mails: readonly { id: number; secretSealed: string }[];
  /** With their secrets resealed. */
  destinations: readonly Destination[];
  exports: readonly ExportSchedule[];
  /** With their credentials resealed. */
  billSources: readonly BillSource[];
  /** Sealed texts of the installation, resealed. */
  resealed: readonly { name: string; value: string; replaces: string }[];
  proof: { name: string; value: string; replaces: string };
}

/** Writes everything in one transaction, so that the installation uses exactly one secret. */
export async function writeSecretChange(
  gate: LedgerGate,
  change: SecretChange,
  auditContext: AuditContext,
): Promise<void> {
  const coCommitted: CoCommittedRow[] = [
    ...change.documents.map((document) => ({ table: 'catalog' as const, put: document })),
    ...change.creations.map((creation) => ({ table: 'creations' as const, resealed: creation })),
    ...change.mails.map((mail) => ({ table: 'mails' as const, resealed: mail })),
    ...change.destinations.map((resealed) => ({ table: 'destinations' as const, resealed })),
    ...change.exports.map((resealed) => ({ table: 'exports' as const, resealed })),
    ...change.billSources.map((source) => ({ table: 'provider_bill_sources' as const, source })),
    ...change.resealed.map((fact) => ({ table: 'installation' as const, ...fact })),
    { table: 'installation', ...change.proof },
    ...auditRows(auditContext),
  ];
  await gate.submit({ operations: [], coCommitted });
}

/** Nodes are notified as of every change. No effect with SQLite. */
export async function spreadCut(gate: LedgerGate, key: number): Promise<void> {
  await gate.submit({ operations: [], coCommitted: [{ table: 'changes', cut: key }] satisfies CoCommittedRow[] });
}
