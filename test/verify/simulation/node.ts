// One node: the real NodeLedger over the real GroupCommit, on timers and a clock of its own. It crashes, with
// all that it had in memory, begins anew under its name, and is suspended for a while.

import { systemClock } from '../../../src/base/clock.ts';
import { GroupCommit, NodeLedger } from '../../../src/ledger/ledger.ts';
import type { Database } from './database.ts';
import { acrossNetwork, type Network } from './network.ts';
import { Process, type Scheduler } from './scheduler.ts';
import type { Trace } from './trace.ts';

/** From one start of a node to its end. */
export interface NodeRun {
  name: string;
  process: Process;
  ledger: NodeLedger;
  /** Told when it crashes: who waits for it hears no more of it. */
  onCrash: Set<() => void>;
}

export class SimulatedNode {
  readonly name: string;
  /** Null while it is down, or has no lease yet. */
  run: NodeRun | null = null;
  /** How far its clock was set away from the true time. */
  offsetMs = 0;
  /** How long it stays down after a crash; null: for ever. */
  downMs: () => number | null = () => 1_000;
  /** It crashed and will not come back. */
  isGone = false;
  readonly #network: Network;
  readonly #database: Database;
  readonly #scheduler: Scheduler;
  readonly #trace: Trace;
  readonly #startMs: number;
  readonly #hasPeers: boolean;
  /** Starts it again, whatever became of its runs. */
  readonly #keeper = new Process();
  #starting: NodeRun | null = null;

  constructor(name: string, network: Network, database: Database, startMs: number, hasPeers: boolean) {
    this.name = name;
    this.#hasPeers = hasPeers;
    this.#network = network;
    this.#scheduler = network.scheduler;
    this.#trace = network.trace;
    this.#database = database;
    this.#startMs = startMs;
  }

  start(): void {
    const process = new Process();
    const timers = this.#scheduler.timersOf(process);
    const connection = { process, crash: (cause: string) => this.#crash(run, cause) };
    const commit = new GroupCommit(this.#database.connect(connection), () => {}, timers);
    const clock = systemClock(
      () => this.#startMs + this.#scheduler.nowMs + this.offsetMs,
      () => this.#scheduler.nowMs,
    );
    const ledger = new NodeLedger(
      acrossNetwork(this.#network, process, commit),
      clock,
      this.name,
      timers,
      this.#hasPeers,
    );
    const run: NodeRun = { name: this.name, process, ledger, onCrash: new Set() };
    this.#starting = run;
    this.#trace.note(`${this.name} starts`);
    ledger.open().then(
      (ended) => {
        this.#trace.note(`${this.name} has ended ${ended} holds and serves`);
        this.run = run;
      },
      () => this.#crash(run, 'at its start'), // the process exits if the store is unavailable, and is restarted
    );
  }

  crash(cause: string): void {
    const run = this.run ?? this.#starting;
    if (run !== null) this.#crash(run, cause);
  }

  /** Nothing of it runs for so long; then all at once that was due. */
  suspend(ms: number): void {
    const { run } = this;
    if (run === null || run.process.isSuspended) return;
    this.#trace.count('node suspended');
    this.#trace.note(`${this.name} is suspended for ${ms}`);
    run.process.isSuspended = true;
    this.#scheduler.after(ms, this.#keeper, () => this.resume(run));
  }

  resume(run: NodeRun | null = this.run): void {
    if (run === null || !run.process.isSuspended) return;
    this.#trace.note(`${this.name} goes on`);
    this.#scheduler.resume(run.process);
  }

  #crash(run: NodeRun, cause: string): void {
    if (!run.process.isAlive) return;
    run.process.isAlive = false;
    this.#trace.count(`crash ${cause}`);
    this.#trace.note(`${this.name} crashes ${cause}`);
    if (this.run === run) this.run = null;
    this.#starting = null;
    for (const tell of run.onCrash) tell();
    const downMs = this.downMs();
    this.isGone = downMs === null;
    if (downMs === null) this.#trace.count('node never came back');
    else this.#scheduler.after(downMs, this.#keeper, () => this.start());
  }
}
