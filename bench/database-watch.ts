// Watches a PostgreSQL server during a measurement: the processor time of its processes, and how many ledger sessions
// wait for a lock.

import type { SQL } from 'bun';
import { readCpuMs } from './measured-process.ts';

const LOOK_MS = 20;
const PROCESSES = 'SELECT pid FROM pg_stat_activity WHERE pid <> pg_backend_pid()';
const WORKING = `SELECT count(*)::int AS working, count(*) FILTER (WHERE wait_event_type = 'Lock')::int AS waiting
  FROM pg_stat_activity WHERE application_name = 'turnpike ledger' AND state <> 'idle'`;

export class DatabaseWatch {
  readonly #client: SQL;
  #before = new Map<number, number>();
  #looks = { working: 0, waiting: 0 };
  #looking: Promise<void> | null = null;
  #isOver = false;

  constructor(client: SQL) {
    this.#client = client;
  }

  async begin(): Promise<void> {
    this.#before = await this.#readProcesses();
    this.#looks = { working: 0, waiting: 0 };
    this.#isOver = false;
    this.#looking = this.#look();
  }

  /** Since the start; processes that ended are not counted. */
  async end(): Promise<{ cpuMs: number; waitingShare: number }> {
    this.#isOver = true;
    await this.#looking;
    let cpuMs = 0;
    for (const [pid, afterMs] of await this.#readProcesses()) cpuMs += afterMs - (this.#before.get(pid) ?? 0);
    return { cpuMs, waitingShare: this.#looks.waiting / Math.max(1, this.#looks.working) };
  }

  async close(): Promise<void> {
    await this.#client.close();
  }

  async #look(): Promise<void> {
    while (!this.#isOver) {
      const [row] = (await this.#client.unsafe(WORKING)) as { working: number; waiting: number }[];
      this.#looks.working += row?.working ?? 0;
      this.#looks.waiting += row?.waiting ?? 0;
      await Bun.sleep(LOOK_MS);
    }
  }

  async #readProcesses(): Promise<Map<number, number>> {
    const rows = (await this.#client.unsafe(PROCESSES)) as { pid: number }[];
    return new Map(rows.map(({ pid }) => [pid, readCpuMs(pid)]));
  }
}
