// Changes of accounts, keys and the catalogue as bundles for the ledger: what bounds them is the
// ledger's, the rest travels alongside. The same for every store.

import type {
  Account,
  AccountStore,
  AccountTerms,
  FirstCredit,
  Key,
  KeyTerms,
  PersonStore,
  TokenStore,
} from '../accounts/accounts.ts';
import type { Trail } from '../audit/audit.ts';
import type { CatalogDocument, CatalogStore } from '../catalog/catalog.ts';
import { bounds } from '../config.ts';
import { TurnpikeError } from '../errors.ts';
import type { Answer, Bundle, LedgerGate, Operation } from '../ledger/ledger.ts';
import type { InstallationStore } from '../secrets/secrets.ts';
import type { LearnedStore } from '../usage/usage.ts';
import type { AlongsideRow } from './alongside.ts';

type AccountWrites = Pick<AccountStore, 'createAccount' | 'updateAccount' | 'createKey' | 'updateKey' | 'rotateKey'>;

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
    async createAccount(account, terms, credit, trail) {
      const operations = [setAccount(account, terms)];
      if (credit !== null && credit.amount !== 0) operations.push(firstCredit(account, credit));
      await submit(gate, operations, [{ table: 'accounts', account }, ...trailRows(trail)]);
    },
    async updateAccount(account, terms, trail) {
      await submit(gate, [setAccount(account, terms)], [{ table: 'accounts', account }, ...trailRows(trail)]);
    },
    async createKey(key, secretHash, terms, trail) {
      await submit(gate, [setKey(key, terms)], [...newKeyRows(key, secretHash), ...trailRows(trail)]);
    },
    async updateKey(key, terms, trail) {
      await submit(gate, [setKey(key, terms)], [{ table: 'keys', key }, ...trailRows(trail)]);
    },
    async rotateKey(key, secretHash, graceEndsAtMs, trail) {
      await submit(
        gate,
        [],
        [
          { table: 'keys', key },
          { table: 'key_secrets', keyId: key.id, secretHash, othersEndAtMs: graceEndsAtMs },
          ...trailRows(trail),
        ],
      );
    },
  };
}

/** The writing half of TokenStore. */
export function tokenWrites(gate: LedgerGate): Pick<TokenStore, 'createToken' | 'updateToken'> {
  return {
    async createToken(token, secretHash, trail) {
      await submit(gate, [], [{ table: 'tokens', token, secretHash }, ...trailRows(trail)]);
    },
    async updateToken(token, trail) {
      await submit(gate, [], [{ table: 'tokens', token, secretHash: null }, ...trailRows(trail)]);
    },
  };
}

/** The writing half of PersonStore. */
export function personWrites(gate: LedgerGate): Pick<PersonStore, 'createPerson' | 'updatePerson'> {
  return {
    async createPerson(person, linkHash, trail, former = null) {
      const freed: AlongsideRow[] = former === null ? [] : [{ table: 'people', person: former, link: { hash: null } }];
      const made: AlongsideRow = { table: 'people', person, link: { hash: linkHash } };
      await submit(gate, [], [...freed, made, ...trailRows(trail)]);
    },
    async updatePerson(person, link, trail) {
      await submit(gate, [], [{ table: 'people', person, link }, ...trailRows(trail)]);
    },
  };
}

/** The writing half of CatalogStore. */
export function catalogWrites(gate: LedgerGate): Pick<CatalogStore, 'saveCatalog'> {
  return {
    async saveCatalog(put, remove, trail) {
      const rows: AlongsideRow[] = [
        ...put.map((document: CatalogDocument) => ({ table: 'catalog' as const, put: document })),
        ...remove.map((name) => ({ table: 'catalog' as const, remove: name })),
        ...trailRows(trail),
      ];
      await submit(gate, [], rows);
    },
  };
}

/** The writing half of InstallationStore. */
export function installationWrites(gate: LedgerGate): Pick<InstallationStore, 'writeInstallation'> {
  return {
    async writeInstallation(name, value) {
      await submit(gate, [], [{ table: 'installation', name, value, replaces: null }]);
    },
  };
}

/** The writing half of LearnedStore. */
export function learnedWrites(gate: LedgerGate): Pick<LearnedStore, 'saveLearned'> {
  return {
    async saveLearned(learned) {
      const rows = learned.map(([model, document]) => ({ table: 'learned' as const, model, document }));
      await submit(gate, [], rows);
    },
  };
}

/** What a change leaves beside itself, as rows of its transaction. */
export function trailRows({ audit, creation, since = null }: Trail): AlongsideRow[] {
  const rows: AlongsideRow[] = audit.map((record) => ({ table: 'audit_records', record }));
  if (creation !== null) {
    const forgetUntilMs = creation.atMs - bounds.creationRememberedMs;
    rows.push({ table: 'creations', creation, forgetUntilMs });
  }
  if (since !== null) rows.push({ table: 'changes', since });
  return rows;
}

function newKeyRows(key: Key, secretHash: string): AlongsideRow[] {
  return [
    { table: 'keys', key },
    { table: 'key_secrets', keyId: key.id, secretHash, othersEndAtMs: null },
  ];
}

/** An account with its first credit and key, in one transaction: all of it is there or nothing. */
export async function writeFirstAccount(gate: LedgerGate, first: FirstAccount, trail: Trail): Promise<void> {
  const { account, key } = first;
  await submit(
    gate,
    [setAccount(account, first.accountTerms), firstCredit(account, first.credit), setKey(key, first.keyTerms)],
    [{ table: 'accounts', account }, ...newKeyRows(key, first.secretHash), ...trailRows(trail)],
  );
}

function setAccount(account: Account, terms: AccountTerms): Operation {
  return { kind: 'set-account', account: account.id, terms };
}

function setKey(key: Key, terms: KeyTerms): Operation {
  return { kind: 'set-key', key: key.id, account: key.accountId, terms };
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

async function submit(gate: LedgerGate, operations: Operation[], alongside: AlongsideRow[]): Promise<void> {
  const bundle: Bundle = { operations, alongside };
  const refused = (await gate.submit(bundle)).filter((answer) => !answer.ok);
  // The others are refused only because it was.
  const cause = refused.find((answer) => answer.reason !== 'bundle_refused') ?? refused[0];
  if (cause !== undefined) throw asError(cause);
}

function asError(answer: Extract<Answer, { ok: false }>): TurnpikeError {
  switch (answer.reason) {
    case 'below_available':
      return new TurnpikeError('invalid_request', 'credit_line: the account owes or holds more than this would allow');
    case 'beyond_maximum':
      return new TurnpikeError(
        'invalid_request',
        'credit_line: balance and credit line together must not be beyond 9007199.254740991 USD',
      );
    case 'unknown_account':
      return new TurnpikeError('object_not_found', 'There is no such account.');
    case 'unknown_key':
      return new TurnpikeError('object_not_found', 'There is no such key.');
    default:
      return new TurnpikeError('conflict', 'The change was refused because another of the same step was.');
  }
}
