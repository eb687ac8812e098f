// What an operator is told of a store at rest or in use: counts and names, of one moment, and
// nothing that takes long with many records.

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
import type { Reader } from './read-pool.ts';
import { readSnapshot } from './read-snapshot.ts';

const member = (alias: string, name: string) => `(${alias}.document::json ->> '${name}')`;
const texts = surveyTexts({
  text: member,
  number: (alias, name) => `${member(alias, name)}::bigint`,
  listed: (alias, name, as) => `json_array_elements_text(${alias}.document::json -> '${name}') ${as} (value)`,
});

/** Surveys the database, with nodes running on it or not. Throws what the driver throws. */
export function surveyStore(url: string, nowMs: number, statementMsMax?: number): Promise<StoreSurvey> {
  const look = async ({ read }: Reader) => {
    const rows: SurveyRows = {
      proof: await read(PROOF),
      counts: await read(texts.counts, nowMs),
      hashedUnder: await read(texts.hashedUnder, nowMs),
      lostGroups: await read(texts.lostGroups),
      documents: await read(texts.documents),
    };
    return describeSurvey(rows);
  };
  return readSnapshot(url, look, statementMsMax);
}

/** The proof of the secret that a database is under, whatever version its tables have; null without one. Throws what the driver throws. */
export function readProof(url: string): Promise<string | null> {
  return readSnapshot(url, async ({ read }) => {
    const [row] = await read<{ value: string }>(PROOF);
    return row?.value ?? null;
  });
}

/** Keys and tokens hashed under a secret of the installation, a hundred of each at most. */
export function listDependents(
  url: string,
  secretId: string,
  nowMs: number,
): Promise<{ keys: Dependent[]; tokens: Dependent[] }> {
  return readSnapshot(url, async ({ read }) => ({
    keys: describeDependents('key', await read<DependentRow>(texts.keysUnder, nowMs, secretId)),
    tokens: describeDependents('tok', await read<DependentRow>(texts.tokensUnder, nowMs, secretId)),
  }));
}
