// The points of the store in PostgreSQL, loaded into the service beside those of crash-points.ts: between the two round trips of
// a batch, when its commit has been asked for, when that is answered. What is in the batch names them; `database` names all.

import { AsyncLocalStorage } from 'node:async_hooks';
import { COMMIT, Connection } from '../../../src/storage/postgres/connection.ts';
import { PostgresLedgerStore } from '../../../src/storage/postgres/ledger-store.ts';
import { PostgresGate } from '../../../src/storage/postgres/postgres.ts';
import { batchNames, pass, watchExtensions } from './crash-points.ts';

/** So long after a commit was asked for: it may have left the process or not, and be made or not. */
const ASKED_MS_MAX = 2;

/** The names of the batch that is under way. */
const inProgress = new AsyncLocalStorage<Set<string>>();

watchExtensions(PostgresGate.prototype);
watchBatches();
watchAsked();

function watchBatches(): void {
  const { transact } = PostgresLedgerStore.prototype;
  PostgresLedgerStore.prototype.transact = async function (bundles, decide) {
    const kinds = bundles.flatMap(({ operations }) => operations.map(({ kind }) => kind));
    const names = new Set(['database', ...kinds.flatMap((kind) => batchNames[kind] ?? [])]);
    let isWritten = false;
    await inProgress.run(names, () =>
      transact.call(this, bundles, (rows) => {
        const changes = decide(rows);
        // Who ends what others left looks again and again, mostly in vain.
        if (changes.endings.length === 0) names.delete('recovery');
        isWritten = !changes.isEmpty;
        if (isWritten) for (const name of names) pass(`${name}-before-commit`);
        return changes;
      }),
    );
    if (isWritten) for (const name of names) pass(`${name}-after-commit`);
  };
}

function watchAsked(): void {
  const { ask } = Connection.prototype;
  Connection.prototype.ask = function (...asked) {
    const answers = ask.call(this, ...asked);
    const names = inProgress.getStore();
    if (names !== undefined && asked.includes(COMMIT))
      setTimeout(() => {
        for (const name of names) pass(`${name}-commit-asked`);
      }, Math.random() * ASKED_MS_MAX);
    return answers;
  };
}
