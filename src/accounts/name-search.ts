// Searches of accounts, keys, people and destinations by a part of their names.

import type { Requester } from '../base/timers.ts';
import type { Account, Key } from './account.ts';
import type { Person } from './person.ts';

/** A search for a part of a name, in upper or lower case. */
export interface NameSearch {
  text: string;
  accountId: number | null;
  /** Only keys that this actor created; null: all. */
  madeBy: string | null;
  limit: number;
}

/** Newest first. Reads a bounded number of rows. */
export interface NameSearches {
  searchAccountNames(search: NameSearch, requester?: Requester): Promise<Account[]>;
  /** By name, the first characters of the secret, or a tag "name:value". */
  searchKeyNames(search: NameSearch, requester?: Requester): Promise<Key[]>;
  /** By name or email. */
  searchPersonNames(search: NameSearch, requester?: Requester): Promise<Person[]>;
  /** The ids of those with it in their name or address. */
  searchDestinationNames(search: NameSearch, requester?: Requester): Promise<number[]>;
}
