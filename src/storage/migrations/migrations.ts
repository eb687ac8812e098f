// The versions of the stored tables, in order. A released version never changes; the next one alters its tables.
// Amounts are nanodollars, times are milliseconds since 1970, ids are integers.

import { agentTables } from './agent-sign-ins.ts';
import { answerShares } from './answer-shares.ts';
import { attribution } from './attribution.ts';
import { baselineTables } from './baseline-tables.ts';
import { batchCounts } from './batch-counts.ts';
import { batchLists } from './batch-lists.ts';
import { batchParts } from './batch-parts.ts';
import { batchTables } from './batches.ts';
import { dataRights } from './data-rights.ts';
import { directoryTables } from './directory.ts';
import { emailClaims } from './email-claims.ts';
import { exportTables } from './exports.ts';
import { fileTables } from './files.ts';
import { furtherTotals } from './further-totals.ts';
import { groupsInTotals } from './groups-in-totals.ts';
import { incidentTables } from './incidents.ts';
import { forBoth, type MigrationPart } from './migration-part.ts';
import { nameIndexes } from './names.ts';
import { missingPaymentTables, paymentTables } from './payments.ts';
import { peopleAndLevels } from './people-and-levels.ts';
import { planWindowColumns } from './plan-windows.ts';
import { providerBillTables } from './provider-bills.ts';
import { refusalTables } from './refusals.ts';
import { rolledTotals } from './rolled-totals.ts';
import { rolledUnits } from './rolled-units.ts';
import { savedViewTables } from './saved-views.ts';
import { scimTables } from './scim.ts';
import { spansOfTotals } from './spans-of-totals.ts';
import { tagValuesAndSpans } from './tag-values-and-spans.ts';
import { unitsInTotals } from './units-in-totals.ts';

/** Statements are separated by semicolons. */
export interface Migration extends MigrationPart {
  version: number;
  name: string;
  /** The lowest version that a program must know to use PostgreSQL's tables at this version. Nodes of two releases may run at once. */
  leastKnown: number;
}

/** The first migration creates all tables. It continues the numbering of the development versions that it replaces. */
const baseline: Migration = {
  version: 9,
  name: 'baseline',
  leastKnown: 8,
  ...baselineTables,
};

/** The last development version before the baseline, which has one more column. Not a step of new installations. */
const fromVersion8: Migration = {
  version: 9,
  name: 'failed attempts',
  leastKnown: 8,
  sqlite: "ALTER TABLE claims ADD COLUMN failed_attempts TEXT NOT NULL DEFAULT ''",
  postgres: `ALTER TABLE claims ADD COLUMN failed_attempts text COLLATE "C" NOT NULL DEFAULT ''`,
};

/** Programs of earlier versions do not know plans and debts, so they cannot start on these tables. */
const payments: Migration = {
  version: 10,
  name: 'payments',
  leastKnown: 10,
  ...paymentTables,
};

/** Only new tables, which programs of version 10 neither read nor write. */
const forConsole: Migration = {
  version: 11,
  name: 'console',
  leastKnown: 10,
  ...refusalTables,
};

/** Only indexes, which the database maintains for programs of any version. */
const names: Migration = {
  version: 12,
  name: 'names',
  leastKnown: 10,
  ...nameIndexes,
};

/** Responses that programs of earlier versions store have no account. */
const shares: Migration = {
  version: 14,
  name: 'answer shares',
  leastKnown: 10,
  ...answerShares,
};

/** Programs of earlier versions leave the new columns as they are: a change of plans that they make forgets windows, as before. */
const planWindows: Migration = {
  version: 15,
  name: 'plan windows',
  leastKnown: 10,
  ...planWindowColumns,
};

/** Programs of earlier versions let people of an account claim an email before they accept, so they cannot run on it. */
const claimedEmails: Migration = {
  version: 16,
  name: 'claimed emails',
  leastKnown: 16,
  ...emailClaims,
};

/** Only tables that every later program expects. */
const missingTables: Migration = {
  version: 17,
  name: 'missing payment tables',
  leastKnown: 16,
  ...missingPaymentTables,
};

/** Only functions of PostgreSQL, which programs of earlier versions do not call. */
const rights: Migration = {
  version: 18,
  name: 'data rights',
  leastKnown: 16,
  ...dataRights,
};

/** Programs of earlier versions would let messages past the limits of accounts above and of people. */
const levels: Migration = {
  version: 19,
  name: 'people and levels',
  leastKnown: 19,
  ...peopleAndLevels,
};

/** Programs of earlier versions add to daily totals by a key that they no longer have. */
const tags: Migration = {
  version: 20,
  name: 'attribution',
  leastKnown: 20,
  ...attribution,
};

/** Programs of earlier versions keep the new members of people's documents, and leave the new column as it is. */
const directory: Migration = {
  version: 21,
  name: 'directory',
  leastKnown: 20,
  ...directoryTables,
};

/** Only new tables, which programs of earlier versions neither read nor write. */
const scim: Migration = {
  version: 22,
  name: 'scim',
  leastKnown: 20,
  ...scimTables,
};

/** Only new tables, which programs of earlier versions neither read nor write. */
const agentSignIns: Migration = {
  version: 23,
  name: 'agent sign-ins',
  leastKnown: 20,
  ...agentTables,
};

/** Only new tables, which programs of earlier versions neither read nor write. */
const exportSchedules: Migration = {
  version: 24,
  name: 'exports',
  leastKnown: 20,
  ...exportTables,
};

/** Only new tables, which programs of earlier versions neither read nor write. */
const providerBills: Migration = {
  version: 25,
  name: 'provider bills',
  leastKnown: 20,
  ...providerBillTables,
};

/** Programs of earlier versions would take the groups of later totals for one. */
const groups: Migration = {
  version: 26,
  name: 'groups in totals',
  leastKnown: 20,
  ...groupsInTotals,
};

/** Only a new table, which programs of earlier versions neither read nor write. */
const incidents: Migration = {
  version: 27,
  name: 'incidents',
  leastKnown: 20,
  ...incidentTables,
};

/** Only tables that earlier versions do not read, and triggers that see their writes. */
const rolled: Migration = {
  version: 28,
  name: 'rolled totals',
  leastKnown: 20,
  ...rolledTotals,
};

/** A column that earlier versions neither read nor write: without it, messages tell whose limit refused. */
const scopes: Migration = {
  version: 29,
  name: 'scopes of refusals',
  leastKnown: 20,
  ...forBoth('ALTER TABLE refusals ADD COLUMN scope text;'),
};

/** Only a new table, which programs of earlier versions neither read nor write. */
const files: Migration = {
  version: 30,
  name: 'files',
  leastKnown: 20,
  ...fileTables,
};

/** Only tables that earlier versions do not read, and a trigger that fills them when these roll up a day. */
const further: Migration = {
  version: 31,
  name: 'further totals',
  leastKnown: 20,
  ...furtherTotals,
};

/** Only a new table, which programs of earlier versions neither read nor write. */
const savedViews: Migration = {
  version: 32,
  name: 'saved views',
  leastKnown: 20,
  ...savedViewTables,
};

/** Only new tables, which programs of earlier versions neither read nor write; these end the reserves of batches early, and bill nothing less. */
const batches: Migration = {
  version: 33,
  name: 'batches',
  leastKnown: 20,
  ...batchTables,
};

/** Only tables that earlier versions do not read, and triggers that fill them when these roll up a day. */
const spans: Migration = {
  version: 34,
  name: 'spans of totals',
  leastKnown: 20,
  ...spansOfTotals,
};

/** Only tables that earlier versions do not read, and triggers that fill them when these roll up a day. */
const tagValues: Migration = {
  version: 35,
  name: 'tag values and spans',
  leastKnown: 20,
  ...tagValuesAndSpans,
};

/** Only a new table. Programs of earlier versions send the requests of these parts themselves, so that a provider may do them twice. */
const partsOfBatches: Migration = {
  version: 36,
  name: 'parts of batches',
  leastKnown: 20,
  ...batchParts,
};

/** Results that programs of earlier versions store have no cost. */
const listsOfBatches: Migration = {
  version: 37,
  name: 'lists of batches',
  leastKnown: 20,
  ...batchLists,
};

/** Only an index. */
const countsOfBatches: Migration = {
  version: 38,
  name: 'counts of batches',
  leastKnown: 20,
  ...batchCounts,
};

/** Only a new table, which programs of earlier versions neither read nor write: they count no units. */
const units: Migration = {
  version: 39,
  name: 'units in totals',
  leastKnown: 20,
  ...unitsInTotals,
};

/** Tables that triggers fill, whichever version rolls up days. */
const coarserUnits: Migration = {
  version: 40,
  name: 'coarser totals of units',
  leastKnown: 20,
  ...rolledUnits,
};

export const migrations: readonly [Migration, ...Migration[]] = [
  baseline,
  payments,
  forConsole,
  names,
  shares,
  planWindows,
  claimedEmails,
  missingTables,
  rights,
  levels,
  tags,
  directory,
  scim,
  agentSignIns,
  exportSchedules,
  providerBills,
  groups,
  incidents,
  rolled,
  scopes,
  files,
  further,
  savedViews,
  batches,
  spans,
  tagValues,
  partsOfBatches,
  listsOfBatches,
  countsOfBatches,
  units,
  coarserUnits,
];

/** The version that this program creates and uses. */
export const latestVersion = migrations.at(-1)?.version ?? baseline.version;

/**
 * The migrations that a database at `version` still needs; 0 is an empty database. Throws for a version that none leads from.
 */
export function migrationsAfter(version: number): readonly Migration[] {
  if (version === fromVersion8.version - 1) return [fromVersion8, ...migrationsAfter(fromVersion8.version)];
  if (version > 0 && version < baseline.version)
    throw new Error(
      `the database has version ${version}; this release can migrate version 8 and later: start the development build of ` +
        `22 November 2026 (commit b3faa9d9) on it once, which migrates it to version 8`,
    );
  return migrations.filter((migration) => migration.version > version);
}
