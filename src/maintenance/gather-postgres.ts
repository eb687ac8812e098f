// What the doctor knows of a database of PostgreSQL: asked step by step, each of which may fail and leaves the others to be asked.

import { bounds } from '../config.ts';
import { checkLedger } from '../ledger/ledger.ts';
import {
  describeDatabaseFailure,
  examineActivity,
  examineServer,
  examineSessions,
  examineTables,
  nameDatabase,
  readProof,
  sumLedger,
  surveyStore,
  type TablesState,
} from '../storage/postgres/postgres.ts';
import type { DatabaseFacts, PostgresFacts, Told } from './facts.ts';
import { type GatheredStore, surveyOf } from './gather-file.ts';

export async function gatherPostgres(url: string, nowMs: number): Promise<GatheredStore> {
  const server = await askServer(url);
  if ('failure' in server) return { postgres: nothingOf(url, server), database: null, secretUse: null };
  const tables = await tellOf(url, examineTables(url));
  const postgres: PostgresFacts = {
    name: nameDatabase(url),
    server,
    sessions: await tellOf(url, examineSessions(url)),
    tables,
    activity: await tellOf(url, examineActivity(url)),
  };
  const database = 'is' in tables ? await databaseFacts(url, tables.is, nowMs) : null;
  return { postgres, database, secretUse: surveyOf(database) ?? (await proofAlone(url, tables)) };
}

async function askServer(url: string): Promise<PostgresFacts['server']> {
  try {
    return { is: await examineServer(url) };
  } catch (failure) {
    return { failure: describeDatabaseFailure(failure, url) };
  }
}

function nothingOf(url: string, server: PostgresFacts['server']): PostgresFacts {
  return { name: nameDatabase(url), server, sessions: null, tables: null, activity: null };
}

/** Null where there is nothing of ours. What a database with missing tables says of its ledger is of no use. */
async function databaseFacts(url: string, state: TablesState, nowMs: number): Promise<DatabaseFacts | null> {
  const { version, bytes, missing } = state;
  if (version.stored === 0) return null;
  const isUsable = isOfThisProgram(state) && missing.length === 0;
  const survey = isUsable ? await tellOf(url, surveyStore(url, nowMs, bounds.doctorAnswerWaitMs)) : null;
  const isToVerify = bytes <= bounds.doctorCheckBytesMax && survey !== null && 'is' in survey;
  return {
    subject: `database ${nameDatabase(url)}`,
    bytes,
    version: { is: version },
    fileFaults: null,
    ledger: isToVerify ? await verify(url) : null,
    survey,
  };
}

/** Null where it takes too long: that is no fault of the ledger. */
async function verify(url: string): Promise<DatabaseFacts['ledger']> {
  try {
    return { is: checkLedger(await sumLedger(url, bounds.reportStatementMsMax)) };
  } catch {
    return null;
  }
}

function isOfThisProgram({ version: { stored, leastKnown, known } }: TablesState): boolean {
  return stored >= known && leastKnown <= known;
}

async function proofAlone(url: string, tables: Told<TablesState>): Promise<GatheredStore['secretUse']> {
  if (!('is' in tables) || tables.is.version.stored === 0) return null;
  const proof = await tellOf(url, readProof(url));
  return 'is' in proof ? { proof: proof.is, hashedUnder: [] } : null;
}

async function tellOf<Fact>(url: string, fact: Promise<Fact>): Promise<Told<Fact>> {
  try {
    return { is: await fact };
  } catch (failure) {
    return { failure: describeDatabaseFailure(failure, url).words };
  }
}
