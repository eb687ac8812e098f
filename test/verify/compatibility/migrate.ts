// The migrations of a start, in a process of their own: `tables|sign-in PATH-OR-URL [KILL-AT]`. SQLite works in this process, so it
// counts its own statements: it prints each before it runs it, and kills itself instead of running number KILL-AT. With PostgreSQL, the
// proxy that the URL leads to does both.

import { Database } from 'bun:sqlite';
import { writeSync } from 'node:fs';
import { splitStatements } from './split-statements.ts';

const [tables = '', place = '', killAt = '0'] = process.argv.slice(2);
const isPostgres = place.startsWith('postgres:');
if (!isPostgres) countStatements(Number(killAt));
// Each loads only what it needs: there are hundreds of these processes.
if (tables === 'sign-in') await prepareSignIn();
else if (isPostgres) await (await import('../../../src/storage/postgres/open-database.ts')).prepareDatabase(place);
else {
  const { closeForWriting, openForWriting } = await import('../../../src/storage/sqlite/open-database.ts');
  closeForWriting(openForWriting(place));
}
process.exit(0); // the sign-in tables are cleaned by an interval

async function prepareSignIn(): Promise<void> {
  const store = isPostgres ? { url: place } : { path: place };
  const { PASSWORD_COST } = await import('../../../src/config/config.ts');
  const settings = {
    store,
    secret: 'x'.repeat(43),
    publicUrl: null,
    issuers: [],
    authorities: null,
    passwordCost: PASSWORD_COST,
  };
  const { openAuth } = await import('../../../src/auth/auth.ts');
  const { openSignIn } = isPostgres
    ? await import('../../../src/storage/postgres/open-sign-in.ts')
    : await import('../../../src/storage/sqlite/open-sign-in.ts');
  const database = openSignIn(place);
  await openAuth({ settings, database, admit: async () => null, tell: () => {} });
}

function countStatements(last: number): void {
  let count = 0;
  const step = (text: string) => {
    writeSync(1, `${text.replaceAll(/\s+/g, ' ')}\n`);
    if (++count === last) process.kill(process.pid, 'SIGKILL');
  };
  const { run, prepare, transaction } = Database.prototype;
  Database.prototype.run = function (this: Database, text: string, ...values: unknown[]) {
    let changes: ReturnType<typeof run> = { changes: 0, lastInsertRowid: 0 };
    for (const statement of splitStatements(text)) {
      step(statement);
      changes = run.call(this, statement, ...(values as []));
    }
    return changes;
  } as typeof run;
  Database.prototype.transaction = function (this: Database, work: (...values: unknown[]) => unknown) {
    const whole = transaction.call(this, (...values: unknown[]) => {
      const result = work(...values);
      step('COMMIT');
      return result;
    });
    return (...values: unknown[]) => {
      step('BEGIN');
      return whole(...values);
    };
  } as unknown as typeof transaction;
  // The sign-in library's statements, which are prepared.
  Database.prototype.prepare = function (this: Database, text: string, ...values: unknown[]) {
    const statement = prepare.call(this, text, ...(values as []));
    if (!/^\s*(?:CREATE|ALTER|INSERT|UPDATE|DELETE)\b/i.test(text)) return statement;
    for (const name of ['run', 'all', 'get'] as const) {
      const original = statement[name].bind(statement) as (...given: unknown[]) => unknown;
      Object.assign(statement, {
        [name]: (...given: unknown[]) => {
          step(text);
          return original(...given);
        },
      });
    }
    return statement;
  } as typeof prepare;
}
