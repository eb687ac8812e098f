// Changes of accounts, keys and the catalogue as bundles for the ledger: what bounds them is the
// ledger's, the rest travels alongside. The same for every store.

import type { Account, AccountStore, AccountTerms, FirstCredit, Key, KeyTerms } from '../accounts/accounts.ts';
import type { CatalogDocument, CatalogStore } from '../catalog/catalog.ts';
import { TurnpikeError } from '../errors.ts';
import type { Answer, Bundle, LedgerGate, Operation } from '../ledger/ledger.ts';
import type { InstallationStore } from '../secrets/secrets.ts';
import type { AlongsideRow } from './alongside.ts';

type AccountWrites = Pick<AccountStore, 'createAccount' | 'updateAccount' | 'createKey' | 'updateKey'>;

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
    async createAccount(account, terms, credit) {
      const operations = [setAccount(account, terms)];
      if (credit !== null && credit.amount !== 0) operations.push(firstCredit(account, credit));
      await submit(gate, operations, [{ table: 'accounts', account }]);
    },
    async updateAccount(account, terms) {
      await submit(gate, [setAccount(account, terms)], [{ table: 'accounts', account }]);
    },
    async createKey(key, secretHash, terms) {
      await submit(gate, [setKey(key, terms)], [{ table: 'keys', key, secretHash }]);
    },
    async updateKey(key, terms) {
      await submit(gate, [setKey(key, terms)], [{ table: 'keys', key, secretHash: null }]);
    },
  };
}

/** The writing half of CatalogStore. */
export function catalogWrites(gate: LedgerGate): Pick<CatalogStore, 'saveCatalog'> {
  return {
    async saveCatalog(put, remove) {
      const rows: AlongsideRow[] = [
        ...put.map((document: CatalogDocument) => ({ table: 'catalog' as const, put: document })),
        ...remove.map((name) => ({ table: 'catalog' as const, remove: name })),
      ];
      await submit(gate, [], rows);
    },
  };
}

/** The writing half of InstallationStore. */
export function installationWrites(gate: LedgerGate): Pick<InstallationStore, 'writeInstallation'> {
  return {
    async writeInstallation(name, value) {
      await submit(gate, [], [{ table: 'installation', name, value }]);
    },
  };
}

/** An account with its first credit and key, in one transaction: all of it is there or nothing. */
export async function writeFirstAccount(gate: LedgerGate, first: FirstAccount): Promise<void> {
  const { account, key } = first;
  await submit(
    gate,
    [setAccount(account, first.accountTerms), firstCredit(account, first.credit), setKey(key, first.keyTerms)],
    [
      { table: 'accounts', account },
      { table: 'keys', key, secretHash: first.secretHash },
    ],
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
  for (const answer of await gate.submit(bundle)) if (!answer.ok) throw asError(answer);
}

function asError(answer: Extract<Answer, { ok: false }>): TurnpikeError {
  switch (answer.reason) {
    case 'below_available':
      return new TurnpikeError('invalid_request', 'credit_line: the account owes or holds more than this would allow');
    case 'beyond_maximum':
      return new TurnpikeError('invalid_request', 'credit: an account cannot hold more than 9007199.254740991 USD');
    case 'unknown_account':
      return new TurnpikeError('object_not_found', 'There is no such account.');
    case 'unknown_key':
      return new TurnpikeError('object_not_found', 'There is no such key.');
    default:
      return new TurnpikeError('conflict', 'The change was refused because another of the same step was.');
  }
}
