// Rows that messages take from besides those that their operations name: accounts above, and people. They are known from earlier
// batches; a batch that finds others once its rows are locked begins again with them.

import { bounds } from '../../config/config.ts';
import type { LoadedRows, Needs } from './load-rows.ts';

/** Rows that the decision needs, and that were not locked and read. */
export interface MissingRows {
  accounts: number[];
  people: number[];
}

/** The batch must begin again. */
export class RowsMissing extends Error {
  override name = 'RowsMissing';
  readonly rows: MissingRows;

  constructor(rows: MissingRows) {
    super('accounts above, or people, are not locked yet');
    this.rows = rows;
  }
}

export class KnownChains {
  readonly #parents = new Map<number, number>();
  readonly #peopleOfKeys = new Map<number, number>();
  readonly #accountsOfPeople = new Map<number, number>();

  /** With what is known. It may be outdated. */
  fill(needs: Needs): Needs {
    const people = new Set(needs.people);
    for (const key of needs.keys) addKnown(people, this.#peopleOfKeys, key);
    const accounts = new Set(needs.accounts);
    for (const person of people) addKnown(accounts, this.#accountsOfPeople, person);
    for (const account of accounts) addKnown(accounts, this.#parents, account); // a set is walked with what is added meanwhile
    return withRows(needs, { accounts: [...accounts], people: [...people] });
  }

  /** Without the rows that a batch with these needs is now known to need. */
  withoutKnown({ accounts, people }: MissingRows, needs: Needs): MissingRows {
    const known = this.fill(needs);
    return {
      accounts: accounts.filter((id) => !known.accounts.includes(id)),
      people: people.filter((id) => !known.people.includes(id)),
    };
  }

  /** Learns from rows that were read; null if nothing is missing. */
  findMissing({ accounts, keys, people, holds, endings }: LoadedRows, asked: Needs): MissingRows | null {
    const missing = { accounts: new Set<number>(), people: new Set<number>() };
    const needAccount = (id: number) => {
      if (!accounts.has(id) && !asked.accounts.includes(id)) missing.accounts.add(id);
    };
    const needPerson = (id: number | null) => {
      if (id !== null && !people.has(id) && !asked.people.includes(id)) missing.people.add(id);
    };
    for (const { id, company } of accounts.values()) {
      learn(this.#parents, id, company.parent);
      if (company.parent !== null) needAccount(company.parent);
    }
    for (const { id, person } of keys.values()) {
      learn(this.#peopleOfKeys, id, person);
      needPerson(person);
    }
    // The row of a person is protected by the lock of their account.
    for (const { id, account } of people.values()) {
      learn(this.#accountsOfPeople, id, account);
      needAccount(account);
    }
    for (const { account, above, person } of [...holds, ...endings]) {
      needAccount(account);
      for (const id of above) needAccount(id);
      needPerson(person);
    }
    if (missing.accounts.size + missing.people.size === 0) return null;
    return { accounts: [...missing.accounts], people: [...missing.people] };
  }
}

function addKnown(names: Set<number>, known: ReadonlyMap<number, number>, id: number): void {
  const found = known.get(id);
  if (found !== undefined) names.add(found);
}

function learn(known: Map<number, number>, id: number, found: number | null): void {
  if (found === null) known.delete(id);
  else if (known.get(id) !== found) {
    if (known.size >= bounds.cachedLedgerRowsMax) known.clear();
    known.set(id, found);
  }
}

/** The needs of a batch with further rows, in the order of locking. */
export function withRows(needs: Needs, { accounts, people }: MissingRows): Needs {
  return {
    ...needs,
    accounts: [...new Set([...needs.accounts, ...accounts])].sort((one, other) => one - other),
    people: [...new Set([...needs.people, ...people])],
  };
}
