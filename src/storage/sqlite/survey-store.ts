// What an operator is told of a store at rest or in use: counts and names, in one consistent read, and
// nothing that takes long with many records.

import type { Database } from 'bun:sqlite';
import {
  type Dependent,
  type DependentRow,
  describeDependents,
  describeSurvey,
  PROOF,
  type StoreSurvey,
  type SurveyRows,
  surveyTexts,
} from '../store-survey.ts';
import { openForReading } from './open-database.ts';
import { prepareText } from './statements.ts';

const member = (alias: string, name: string) => `json_extract(${alias}.document, '$.${name}')`;
const texts = surveyTexts({
  text: member,
  number: member,
  listed: (alias, name, as) => `json_each(${alias}.document, '$.${name}') ${as}`,
});

/** Surveys the database at `path`, with a server running on it or not. Throws what SQLite throws. */
export function surveyStore(path: string, nowMs: number): StoreSurvey {
  return withReader(path, (database) => {
    const all = <Row>(text: string, ...values: number[]) => prepareText(database, text).all(...values) as Row[];
    const rows: SurveyRows = {
      proof: all(PROOF),
      counts: all(texts.counts, nowMs),
      hashedUnder: all(texts.hashedUnder, nowMs),
      lostGroups: all(texts.lostGroups),
      documents: all(texts.documents),
    };
    return describeSurvey(rows);
  });
}

/** The proof of the secret that a database is under, whatever version its tables have; null without one. Throws what SQLite throws. */
export function readProof(path: string): string | null {
  return withReader(path, (database) => {
    const row = prepareText(database, PROOF).get() as { value: string } | null;
    return row?.value ?? null;
  });
}

/** Keys and tokens hashed under a secret of the installation, a hundred of each at most. */
export function listDependents(
  path: string,
  secretId: string,
  nowMs: number,
): { keys: Dependent[]; tokens: Dependent[] } {
  return withReader(path, (database) => {
    const list = (kind: 'key' | 'tok', text: string) =>
      describeDependents(kind, prepareText(database, text).all(nowMs, secretId) as DependentRow[]);
    return { keys: list('key', texts.keysUnder), tokens: list('tok', texts.tokensUnder) };
  });
}

function withReader<Value>(path: string, read: (database: Database) => Value): Value {
  const database = openForReading(path);
  try {
    return database.transaction(() => read(database))();
  } finally {
    database.close();
  }
}
