// The stored answers to claims: written in the ledger's transaction, bounded there in what they take
// together, and found by the message that they answered.

import type { Database } from 'bun:sqlite';
import { bounds } from '../../config.ts';
import type { AnswerStore, StoredAnswer } from '../../ledger/ledger.ts';
import { prepareText } from './statements.ts';

type Statements = ReturnType<typeof prepareAnswerWrites>;

/** Prepared once for each connection: what an answer costs is mostly this otherwise. */
const statementsOf = new WeakMap<Database, Statements>();

/** Writes one answer in the transaction that is open, unless it is there; the oldest go where all become too large. */
export function writeAnswer(database: Database, { requestId, atMs, bytes, sealed }: StoredAnswer): void {
  let statements = statementsOf.get(database);
  if (statements === undefined) {
    statements = prepareAnswerWrites(database);
    statementsOf.set(database, statements);
  }
  if (statements.write.run(requestId, atMs, bytes, sealed).changes === 0) return;
  let stored = (statements.readStored.get() as { bytes: number }).bytes;
  // It ends: with the last answer gone nothing is stored.
  while (stored > bounds.answersStoredBytesMax) {
    const oldest = statements.findOldest.get() as { seq: number; bytes: number };
    statements.remove.run(oldest.seq);
    stored -= oldest.bytes;
  }
}

function prepareAnswerWrites(database: Database) {
  return {
    write: prepareText(
      database,
      `INSERT INTO answers (request_id, at_ms, bytes, sealed) VALUES ($1, $2, $3, $4)
       ON CONFLICT (request_id) DO NOTHING`,
    ),
    readStored: prepareText(database, 'SELECT bytes FROM answers_stored'),
    findOldest: prepareText(database, 'SELECT seq, bytes FROM answers ORDER BY seq LIMIT 1'),
    remove: prepareText(database, 'DELETE FROM answers WHERE seq = $1'),
  };
}

export function answerReads(database: Database): Pick<AnswerStore, 'findAnswer'> {
  const find = prepareText(
    database,
    'SELECT request_id AS requestId, at_ms AS atMs, bytes, sealed FROM answers WHERE request_id = $1',
  );
  return {
    async findAnswer(requestId) {
      return find.get(requestId) as StoredAnswer | null;
    },
  };
}
