// The main proof of the ledger: random operations from a seed run in memory and on SQLite. Each answer is compared
// with a model, and every invariant is checked after each step. SIMULATION_SEEDS sets the number of seeds,
// SIMULATION_SEED the first one.

import { afterAll, test } from 'bun:test';
import { GroupCommit } from '../../../src/ledger/ledger.ts';
import { ConnectionWriter, SqliteLedgerStore } from '../../../src/storage/sqlite/sqlite.ts';
import { openSqlite } from '../../storage/open-sqlite.ts';
import { sqliteRows } from '../../verify/simulation/stored-rows.ts';
import { expectEveryAnswer, type OpenStore, simulate } from './simulation/simulate.ts';

const SEEDS = Number(process.env['SIMULATION_SEEDS'] ?? 12);
const FIRST_SEED = Number(process.env['SIMULATION_SEED'] ?? 1);

const answered = new Map<string, number>();

for (let seed = FIRST_SEED; seed < FIRST_SEED + SEEDS; seed++) {
  test(`no sequence of operations breaks an invariant (seed ${seed})`, () => simulate(seed, open, answered), 60_000);
}

afterAll(() => {
  if (SEEDS >= 10) expectEveryAnswer(answered);
});

const open: OpenStore = (clock) => {
  const { database, stores, sums, close } = openSqlite(clock);
  database.run('PRAGMA synchronous = OFF');
  let { gate } = stores;
  return {
    submit: (bundles) => Promise.all(bundles.map((operations) => gate.submit({ operations }))),
    crash() {
      gate = new GroupCommit(new SqliteLedgerStore(database, clock, new ConnectionWriter(database)));
    },
    async submitInVain(bundles) {
      database.run('PRAGMA query_only = ON');
      const asked = await Promise.allSettled(bundles.map((operations) => gate.submit({ operations })));
      database.run('PRAGMA query_only = OFF');
      return asked;
    },
    rows: () => sqliteRows(database),
    sums,
    close,
  };
};
