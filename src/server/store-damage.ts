// Notices damage of the database: a page that cannot be read. It stays known until a restart, because other requests go on as if
// nothing were wrong.

import type { LogWriter } from '../observability/observability.ts';
import type { OpenStore } from './open-store.ts';

const CAUSES_MAX = 5;

export class StoreDamage {
  readonly #log: Pick<LogWriter, 'writeEvent'>;
  #isNoticed = false;

  constructor(log: Pick<LogWriter, 'writeEvent'>) {
    this.#log = log;
  }

  get isNoticed(): boolean {
    return this.#isNoticed;
  }

  /** Takes what the start found, and failures of the ledger. */
  watch(store: Pick<OpenStore, 'damage' | 'onFailure'>): void {
    store.onFailure = (cause) => this.note(cause);
    this.note(store.damage);
  }

  /** Takes any failure. The first one of damage is logged. */
  note(failure: unknown): void {
    if (this.#isNoticed || failure === null || failure === undefined) return;
    const cause = findDamage(failure);
    if (cause === null) return;
    this.#isNoticed = true;
    this.#log.writeEvent('store_damaged', { cause });
  }
}

/** The words of SQLite or PostgreSQL, in the failure or its causes; null for any other failure. */
function findDamage(failure: unknown): string | null {
  let cause: unknown = failure;
  for (let depth = 0; depth < CAUSES_MAX && cause !== null && cause !== undefined; depth++) {
    const { code, errno } = cause as { code?: unknown; errno?: unknown };
    const words = cause instanceof Error ? cause.message : String(cause);
    const isOfSqlite = /^SQLITE_(?:CORRUPT|NOTADB)/.test(String(code));
    const isOfPostgres = errno === 'XX001' || errno === 'XX002'; // data_corrupted, index_corrupted
    // A failure of another thread has only its words.
    if (isOfSqlite || isOfPostgres || words.includes('database disk image is malformed')) return words;
    cause = cause instanceof Error ? cause.cause : null;
  }
  return null;
}
