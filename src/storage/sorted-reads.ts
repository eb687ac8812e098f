// Sorted pages of accounts and keys. Indexes have all of them by creation and by name. Balance and last use have no index, because
// every message changes them; for these orders, and for narrowed lists, a bounded number of rows is sorted.

import type { AccountStore, SortedAccounts, SortedKeys, SortedPage, SortedRow } from '../accounts/accounts.ts';
import { bounds } from '../config/config.ts';
import { TurnpikeError } from '../errors.ts';
import { keysOfActor } from './keys-of-actor.ts';
import { Bindings, LAST, type ReadValue, type SqlReader } from './sql-reader.ts';

/** The rows of a list, and what they are sorted by. */
interface Source {
  /** The FROM clause of the rows. */
  from: string;
  /** Adds their meters `m`. */
  join: string;
  /** Conditions that the index narrows the rows by. */
  equal: readonly string[];
  /** The parameters of these conditions, the first ones. */
  equalValues: readonly ReadValue[];
  /** Conditions that each of these rows is compared with. */
  filters: readonly string[];
  id: string;
  value: string;
  /** Whether the values are numbers. */
  isNumber: boolean;
  /** Whether an index has these rows in the order of value and id. */
  isInOrder: boolean;
}

/** `rowsMax` bounds the rows that one statement sorts. */
export function sortedReads(
  on: SqlReader,
  rowsMax: number = bounds.sortedRowsMax,
): Pick<AccountStore, 'sortAccounts' | 'sortKeys'> {
  const sort = async (page: SortedPage<string>, describe: (bindings: Bindings) => Source): Promise<SortedRow[]> => {
    const bindings = new Bindings();
    const { from, join, equal, equalValues, filters, id, value, isNumber, isInOrder } = describe(bindings);
    const columns = `${on.number(id)} AS id, ${isNumber ? on.number(value) : value} AS value`;
    if (isInOrder) return on.read(`SELECT ${columns} ${from} ${pageOf(bindings, page, value, id)}`, ...bindings.values);
    await checkRows(`${from} ${allOf(equal)}`, equalValues);
    const rows = `SELECT ${columns} ${from} ${join} ${allOf([...equal, ...filters])} LIMIT ${bindings.add(rowsMax)}`;
    return on.read(
      `SELECT s.id, s.value FROM (${rows}) s ${pageOf(bindings, page, 's.value', 's.id')}`,
      ...bindings.values,
    );
  };
  const checkRows = async (rows: string, values: readonly ReadValue[]) => {
    const text = `SELECT 1 AS more ${rows} LIMIT 1 OFFSET $${values.length + 1}`;
    if ((await on.read(text, ...values, rowsMax)).length > 0) throw tooMany(rowsMax);
  };
  return {
    sortAccounts: (page) => sort(page, (bindings) => accountsOf(on, bindings, page)),
    sortKeys: (page) => sort(page, (bindings) => keysOf(on, bindings, page)),
  };
}

/** The WHERE, ORDER BY and LIMIT clauses of a page. */
function pageOf(bindings: Bindings, { after, order, limit }: SortedPage<string>, value: string, id: string): string {
  const [beyond, direction] = order === 'asc' ? ['>', 'ASC'] : ['<', 'DESC'];
  const isLater =
    after === null ? '' : `WHERE (${value}, ${id}) ${beyond} (${bindings.add(after.value)}, ${bindings.add(after.id)})`;
  return `${isLater} ORDER BY ${value} ${direction}, ${id} ${direction} LIMIT ${bindings.add(limit)}`;
}

function allOf(conditions: readonly string[]): string {
  return conditions.length === 0 ? '' : `WHERE ${conditions.join(' AND ')}`;
}

function accountsOf(on: SqlReader, bindings: Bindings, { by, name, group }: SortedAccounts): Source {
  const filters: string[] = [];
  if (name !== null) filters.push(on.contains(nameOf(on), bindings.add(name)));
  if (group !== null) filters.push(on.jsonHas('r.document', 'groups', bindings.add(group)));
  const list = { table: 'accounts', index: null, equal: [], equalValues: [], filters } as const;
  return by === 'balance' ? byMeter(on, list, 'm.balance') : byIndex(on, list, by);
}

function keysOf(on: SqlReader, bindings: Bindings, page: SortedKeys): Source {
  const { by, accountId, madeBy } = page;
  const equal: string[] = [];
  const ofActor = madeBy === null ? null : keysOfActor(madeBy);
  if (ofActor !== null) equal.push(`r.${ofActor.column} = ${bindings.add(ofActor.value)}`, ...ofActor.where);
  // The sign keeps the condition from leading to another index.
  if (accountId !== null) equal.push(`${ofActor === null ? '' : '+'}r.account_id = ${bindings.add(accountId)}`);
  const index = ofActor?.index ?? (accountId === null ? null : 'keys_of_account');
  const equalValues = [...bindings.values];
  const list = { table: 'keys', index, equal, equalValues, filters: keyFilters(on, bindings, page) } as const;
  // A key that was never used comes before all others.
  return by === 'last_used' ? byMeter(on, list, 'COALESCE(m.last_used_at_ms, -1)') : byIndex(on, list, by);
}

function keyFilters(on: SqlReader, bindings: Bindings, { text, status }: SortedKeys): string[] {
  const filters: string[] = [];
  if (text !== null) {
    const part = bindings.add(text);
    const accounts = `SELECT r.id ${on.from('accounts', 'accounts_by_name')} WHERE ${on.contains(nameOf(on), part)}`;
    filters.push(`(${on.contains(keyTexts(on), part)} OR r.account_id IN (${accounts}))`);
  }
  if (status !== null) {
    const isWorking = status.is === 'enabled' || status.is === 'expired';
    filters.push(`${on.jsonText('r.document', ['status'])} = ${bindings.add(isWorking ? 'enabled' : status.is)}`);
    const endsAtMs = `COALESCE(${on.jsonNumber('r.document', ['expiresAtMs'])}, ${LAST})`;
    if (isWorking) filters.push(`${endsAtMs} ${status.is === 'expired' ? '<=' : '>'} ${bindings.add(status.atMs)}`);
  }
  return filters;
}

interface List extends Pick<Source, 'equal' | 'equalValues' | 'filters'> {
  table: 'accounts' | 'keys';
  /** The index that narrows the rows; null: all rows. */
  index: string | null;
}

function byIndex(on: SqlReader, list: List, by: 'created' | 'name'): Source {
  const isName = by === 'name';
  return {
    ...rowsOf(on, list, isName ? 'by_name' : 'in_order'),
    value: isName ? nameOf(on) : 'r.created_at_ms',
    isNumber: !isName,
    isInOrder: list.equal.length === 0 && list.filters.length === 0,
  };
}

function byMeter(on: SqlReader, list: List, value: string): Source {
  const meters = list.table === 'accounts' ? 'account_meters m' : 'key_meters m';
  const rows = { ...rowsOf(on, list, 'in_order'), join: `JOIN ${meters} ON m.id = r.id` };
  // All rows are those of the meters alone: their documents need not be read.
  const isAll = list.equal.length === 0 && list.filters.length === 0;
  const source = isAll ? { ...rows, from: `FROM ${meters}`, join: '', id: 'm.id' } : rows;
  return { ...source, value, isNumber: true, isInOrder: false };
}

function rowsOf(on: SqlReader, { table, index, ...conditions }: List, order: 'by_name' | 'in_order') {
  return { from: on.from(table, index ?? `${table}_${order}`), join: '', ...conditions, id: 'r.id' };
}

function nameOf(on: SqlReader): string {
  return on.lower(on.jsonText('r.document', ['name']));
}

/** The texts of a key `r` that a search reads, in lower case; its tags as "{team:search,env:test}". */
export function keyTexts(on: SqlReader): string {
  const tags = `COALESCE(replace(${on.jsonText('r.document', ['tags'])}, '"', ''), '')`;
  const [name, prefix] = ['name', 'prefix'].map((member) => on.jsonText('r.document', [member]));
  return on.lower(`(${name} || ' ' || ${prefix} || ' ' || ${tags})`);
}

function tooMany(rowsMax: number): TurnpikeError {
  return new TurnpikeError(
    'invalid_request',
    `There are more than ${rowsMax} to sort: sort all of them by creation or name, or list those of one account.`,
  );
}
