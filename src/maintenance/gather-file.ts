// What the doctor knows of a store in a file: its database, its ledger, what stands in it.

import { statSync } from 'node:fs';
import { bounds } from '../config.ts';
import { checkLedger } from '../ledger/ledger.ts';
import { findFileFaults, readProof, readStoredVersion, sumLedger, surveyStore } from '../storage/sqlite/sqlite.ts';
import type { StoreSurvey } from '../storage/storage.ts';
import type { DatabaseFacts, Facts } from './facts.ts';
import type { SecretUse } from './secret-state.ts';
import { orNull, tell } from './tell.ts';

/** What there is of a store, whichever it is. */
export interface GatheredStore extends Pick<Facts, 'postgres' | 'database'> {
  /** Tables of another version tell under which secret they are, and no more. Null where that is not known. */
  secretUse: SecretUse | null;
}

export function gatherFile(path: string, nowMs: number): GatheredStore {
  const database = databaseFacts(path, nowMs);
  const secretUse = surveyOf(database) ?? orNull(() => ({ proof: readProof(path), hashedUnder: [] }));
  return { postgres: null, database, secretUse };
}

/** What stands in the store, where that could be read. */
export function surveyOf(database: DatabaseFacts | null): StoreSurvey | null {
  return database?.survey != null && 'is' in database.survey ? database.survey.is : null;
}

function databaseFacts(path: string, nowMs: number): DatabaseFacts | null {
  const bytes = orNull(() => statSync(path).size);
  if (bytes === null) return null;
  const version = tell(() => readStoredVersion(path));
  const isPresent = 'is' in version && version.is.stored === version.is.known;
  const isSmall = bytes <= bounds.doctorCheckBytesMax;
  const fileFaults = isSmall && 'is' in version ? findFileFaults(path) : null;
  const isSound = isPresent && (fileFaults === null || fileFaults.length === 0);
  return {
    subject: `file ${path}`,
    bytes,
    version,
    fileFaults,
    ledger: isSound && isSmall ? tell(() => checkLedger(sumLedger(path))) : null,
    survey: isPresent ? tell(() => surveyStore(path, nowMs)) : null,
  };
}
