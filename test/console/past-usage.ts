// Creates a data directory with weeks of usage, for screenshots. Contains no tests.

import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fillUsage, weeklyCourse } from '../../bench/fill-usage.ts';
import { databasePath } from '../../src/storage/sqlite/sqlite.ts';
import { spawnTurnpike } from '../support/start-turnpike.ts';

const RECORDS_MAX = 60_000;
const DAYS = 60;
const KEYS = {
  'Northwind Trading': ['production', 'staging', 'nightly batch'],
  'Bluebird Robotics': ['support bot', 'search'],
  'Harbour University': ['course 101', 'research'],
};

/** Returns a data directory with past usage. No service runs on it. */
export async function createPastUsage(): Promise<string> {
  const directory = mkdtempSync(join(tmpdir(), 'turnpike-past-'));
  {
    await using turnpike = await spawnTurnpike(directory);
    for (const [name, keys] of Object.entries(KEYS)) {
      const { id } = await turnpike.admin('POST', '/accounts', { name, credit: '100000.00' });
      for (const key of keys)
        await turnpike.admin('POST', '/keys', { account: id, name: key, quota: '2500.00', quota_period: 'month' });
    }
  }
  fillUsage(databasePath(directory), RECORDS_MAX, Date.now(), { days: DAYS, course: weeklyCourse });
  return directory;
}
