// Pages of accounts and keys by their names, balances and last uses. These have no index, because messages change most of them: a
// bounded number of rows is sorted in one statement.

import type { AccountStore, SortedKeys, SortedPage } from '../accounts/accounts.ts';
import { bounds } from '../config.ts';
import { TurnpikeError } from '../errors.ts';
import { Bindings, type IndexRange, type SqlReader } from './sql-reader.ts';

type Narrowed = Pick<IndexRange, 'index' | 'equal' | 'where'>;

/** `rowsMax` bounds the rows of one statement. */
export function sortedReads(
  on: SqlReader,
  rowsMax: number = bounds.sortedRowsMax,
): Pick<AccountStore, 'sortAccounts' | 'sortKeys'> {
  const sort = async (
    table: 'accounts' | 'keys',
    page: SortedPage<string>,
    narrow: (bindings: Bindings) => Narrowed,
  ): Promise<{ id: number; value: string | number }[]> => {
    const rowsOf = (bindings: Bindings) =>
      on.range(
        { table, order: ['created_at_ms', 'id'], direction: 'ASC', after: ['-1', '0'], upTo: [], ...narrow(bindings) },
        bindings,
      );
    const counted = new Bindings();
    const further = `SELECT 1 AS more ${rowsOf(counted)} LIMIT 1 OFFSET ${counted.add(rowsMax)}`;
    if ((await on.read(further, ...counted.values)).length > 0) throw tooMany(rowsMax);
    const bindings = new Bindings();
    const rows = `SELECT ${on.number('r.id')} AS id, ${sortedBy(on, page.by)} AS value ${rowsOf(bindings)}`;
    const [beyond, direction] = page.order === 'asc' ? ['>', 'ASC'] : ['<', 'DESC'];
    const { after } = page;
    const isLater =
      after === null ? '' : `WHERE (s.value, s.id) ${beyond} (${bindings.add(after.value)}, ${bindings.add(after.id)})`;
    return on.read(
      `SELECT s.id, s.value FROM (${rows} LIMIT ${bindings.add(rowsMax)}) s
       ${isLater} ORDER BY s.value ${direction}, s.id ${direction} LIMIT ${bindings.add(page.limit)}`,
      ...bindings.values,
    );
  };
  return {
    sortAccounts: (page) =>
      sort('accounts', page, (bindings) => {
        const where: string[] = [];
        if (page.name !== null) where.push(on.contains(nameOf(on), bindings.add(page.name)));
        if (page.group !== null) where.push(on.jsonHas('r.document', 'groups', bindings.add(page.group)));
        return { index: 'accounts_in_order', equal: [], where };
      }),
    sortKeys: (page) => sort('keys', page, (bindings) => narrowKeys(bindings, page)),
  };
}

function narrowKeys(bindings: Bindings, { accountId, madeBy }: SortedKeys): Narrowed {
  if (madeBy !== null) {
    const equal = [['made_by', bindings.add(madeBy)]] as const;
    // The sign keeps the condition from leading to another index.
    const where = accountId === null ? [] : [`+r.account_id = ${bindings.add(accountId)}`];
    return { index: 'keys_of_maker', equal, where };
  }
  if (accountId === null) return { index: 'keys_in_order', equal: [] };
  return { index: 'keys_of_account', equal: [['account_id', bindings.add(accountId)]] };
}

function nameOf(on: SqlReader): string {
  return on.lower(on.jsonText('r.document', ['name']));
}

/** The value of a row `r`. A key that was never used comes before all others. */
function sortedBy(on: SqlReader, by: string): string {
  if (by === 'created') return on.number('r.created_at_ms');
  if (by === 'name') return nameOf(on);
  if (by === 'balance') return on.number('(SELECT m.balance FROM account_meters m WHERE m.id = r.id)');
  return on.number('COALESCE((SELECT m.last_used_at_ms FROM key_meters m WHERE m.id = r.id), -1)');
}

function tooMany(rowsMax: number): TurnpikeError {
  return new TurnpikeError(
    'invalid_request',
    `There are more than ${rowsMax} to sort: list them in the order of their creation, or those of one account.`,
  );
}
