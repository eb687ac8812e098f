// Accounts, keys, people and destinations by a part of their name: the newest rows, a part of an index at a time. No index knows names, so that
// the number of rows and the time are bounded.

import type { NameSearch, NameSearches } from '../accounts/accounts.ts';
import { bounds } from '../config/config.ts';
import { keysOfActor } from './keys-of-actor.ts';
import { readRows } from './readable-rows.ts';
import { keyTexts } from './sorted-reads.ts';
import { Bindings, LAST, numbers, type Position, type PositionRow, type SqlReader } from './sql-reader.ts';
import { documents, readStored, type StoredDocument } from './stored-documents.ts';

interface FoundRow {
  id: number;
  document: string;
}

interface Searched<Row = unknown> {
  table: 'accounts' | 'keys' | 'people' | 'destinations';
  read: (row: FoundRow) => Row;
  /** Expressions of what is searched, in lower case. */
  texts: readonly string[];
}

export interface NameSearchLimits {
  rowsAtOnce: number;
  rowsMax: number;
  readMsMax: number;
}

const LIMITS: NameSearchLimits = {
  rowsAtOnce: bounds.nameSearchRowsAtOnce,
  rowsMax: bounds.nameSearchRowsMax,
  readMsMax: bounds.nameSearchMsMax,
};

export function searchReads(on: SqlReader, fewer: Partial<NameSearchLimits> = {}): NameSearches {
  const limits = { ...LIMITS, ...fewer };
  const find = <Row>(searched: Searched<Row>) => {
    return (search: NameSearch): Promise<Row[]> => searchNames(on, searched, search, limits);
  };
  const member = (name: string) => on.lower(on.jsonText('r.document', [name]));
  return {
    searchAccountNames: find({ table: 'accounts', read: stored(documents.account), texts: [member('name')] }),
    searchKeyNames: find({ table: 'keys', read: stored(documents.key), texts: [keyTexts(on)] }),
    searchPersonNames: find({
      table: 'people',
      read: stored(documents.person),
      texts: [member('name'), member('email')],
    }),
    searchDestinationNames: find({
      table: 'destinations',
      read: ({ id }) => id,
      texts: [member('name'), member('address')],
    }),
  };
}

function stored<Row>(of: StoredDocument<Row>): (row: FoundRow) => Row {
  return ({ document }) => readStored(of, document);
}

async function searchNames<Row>(
  on: SqlReader,
  searched: Searched<Row>,
  search: NameSearch,
  { rowsAtOnce, rowsMax, readMsMax }: NameSearchLimits,
): Promise<Row[]> {
  const startedAtMs = performance.now();
  const found: Row[] = [];
  let start: Position | null = [LAST, LAST];
  for (let rows = 0; start !== null && rows < rowsMax; rows += rowsAtOnce) {
    const end: Position | null = await endOf(on, searched, search, start, rowsAtOnce);
    found.push(...(await matchesIn(on, searched, search, { start, end })));
    if (found.length >= search.limit || performance.now() - startedAtMs > readMsMax) break;
    start = end;
    await on.rest();
  }
  return found.slice(0, search.limit);
}

/** The position of the last row of a part; null: the part has fewer rows. */
async function endOf(
  on: SqlReader,
  searched: Searched,
  search: NameSearch,
  start: Position,
  rows: number,
): Promise<Position | null> {
  const bindings = new Bindings();
  const range = rangeOf(on, bindings, searched, search, { start, end: null });
  const text = `SELECT ${on.number('r.created_at_ms')} AS at_ms, ${on.number('r.id')} AS seq ${range} LIMIT 1 OFFSET ${bindings.add(rows - 1)}`;
  const [last] = await on.read<PositionRow>(text, ...bindings.values);
  return last === undefined ? null : [last.at_ms, last.seq];
}

interface Part {
  start: Position;
  end: Position | null;
}

async function matchesIn<Row>(on: SqlReader, searched: Searched<Row>, search: NameSearch, part: Part): Promise<Row[]> {
  const bindings = new Bindings();
  const range = rangeOf(on, bindings, searched, search, part);
  const wanted = bindings.add(search.text.replaceAll(/[A-Z]/g, (letter) => letter.toLowerCase()));
  const matches = searched.texts.map((searchedText) => on.contains(searchedText, wanted));
  const text = `SELECT r.document, ${numbers(on, 'id')} FROM (SELECT r.* ${range}) r WHERE ${matches.join(' OR ')} LIMIT ${bindings.add(search.limit)}`;
  return readRows(on, await on.read<FoundRow>(text, ...bindings.values), ({ id }) => id, searched.read);
}

function rangeOf(on: SqlReader, bindings: Bindings, { table }: Searched, search: NameSearch, { start, end }: Part) {
  const { accountId, madeBy } = search;
  const ofActor = table === 'keys' && madeBy !== null ? keysOfActor(madeBy) : null;
  const ofAccount = accountId === null ? null : bindings.add(accountId);
  return on.range(
    {
      table,
      index: ofActor?.index ?? `${table}_${ofAccount === null ? 'in_order' : 'of_account'}`,
      equal:
        ofActor !== null
          ? [[ofActor.column, bindings.add(ofActor.value)]]
          : ofAccount === null
            ? []
            : [['account_id', ofAccount]],
      order: ['created_at_ms', 'id'],
      direction: 'DESC',
      after: start.map((value) => bindings.add(value)),
      upTo: (end ?? [0]).map((value) => bindings.add(value)),
      ...(ofActor !== null && {
        where: [...ofActor.where, ...(ofAccount === null ? [] : [`r.account_id = ${ofAccount}`])],
      }),
    },
    bindings,
  );
}
