// Measures what each set-up loses when the machine of its store dies under load, and how long it takes until messages are
// answered again: the table of docs/disaster-recovery.md. `sh bin/with-bun all test/verify/backups/measure.ts [SECONDS]`.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { installLitestream } from './litestream.ts';
import {
  loseStore,
  postgresWithArchive,
  postgresWithStandby,
  type SetUp,
  sqliteWithBackup,
  sqliteWithLitestream,
} from './set-ups.ts';

const ROUNDS = 3;
const ARCHIVE_SECONDS = 5;
const half = { ms: Number(process.argv[2] ?? 10) * 500, messages: 1 };
const directory = mkdtempSync(join(tmpdir(), 'turnpike-measure-'));
try {
  const program = await installLitestream(directory);
  const setUps: [string, SetUp][] = [
    ['SQLite, turnpike backup', sqliteWithBackup],
    ...(program === null ? [] : [['SQLite, Litestream', sqliteWithLitestream(program)] as [string, SetUp]]),
    [`PostgreSQL, archive_timeout ${ARCHIVE_SECONDS} s`, postgresWithArchive(ARCHIVE_SECONDS)],
    ['PostgreSQL, asynchronous standby', postgresWithStandby(false)],
    ['PostgreSQL, synchronous standby', postgresWithStandby(true)],
  ];
  for (const [name, setUp] of setUps)
    for (let round = 0; round < ROUNDS; round++) {
      const installation = await setUp();
      try {
        const { acknowledged, lost, lostSeconds, backSeconds, check } = await loseStore(installation, half);
        const times = `the last ${lostSeconds.toFixed(2)} s; back after ${backSeconds.toFixed(1)} s`;
        console.log(
          `${name}: lost ${lost.length} of ${acknowledged}, ${times}; check ${check.ok ? 'ok' : check.faults}`,
        );
      } finally {
        await installation.close();
      }
    }
} finally {
  rmSync(directory, { recursive: true, force: true });
}
