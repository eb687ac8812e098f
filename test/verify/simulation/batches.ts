// Batches: the money of several messages is set aside at once, each is admitted from it on whichever node is there, and what is left is
// given back. Which reserves are open is read from the rows, as a node does that has just begun.

import { type Answer, type Operation, RESERVED, type Reserve } from '../../../src/ledger/ledger.ts';
import type { Chance } from './chance.ts';
import type { Clients } from './clients.ts';
import { amountOf } from './message.ts';
import { Process } from './scheduler.ts';
import type { World } from './world.ts';

const PAUSE_MS_MAX = 20_000;
const LIFE_MS_MAX = 30_000;
const SWEEP_MS = 1_000;

export class Batches {
  readonly #world: World;
  readonly #chance: Chance;
  readonly #clients: Clients;
  readonly #itemsMax: number;
  readonly #process = new Process();
  /** Reserves of batches that have ended. */
  readonly #over = new Set<string>();
  #reserves = 0;
  isStopped = false;

  /** `itemsMax`: messages of a batch; 0: there are no batches. */
  constructor(world: World, clients: Clients, itemsMax: number) {
    this.#world = world;
    this.#chance = world.chance;
    this.#clients = clients;
    this.#itemsMax = itemsMax;
  }

  /** Makes batches until it is stopped, and gives back what is left of them. */
  start(): void {
    if (this.#itemsMax === 0) return;
    this.#makeNext();
    this.#sweep();
  }

  #later(ms: number, callback: () => void): void {
    this.#world.scheduler.after(ms, this.#process, callback);
  }

  #makeNext(): void {
    if (this.isStopped) return;
    void this.#make();
    this.#later(this.#chance.below(PAUSE_MS_MAX), () => this.#makeNext());
  }

  /** The reserve is asked for once. Without an answer, it may be there all the same. */
  async #make(): Promise<void> {
    const chance = this.#chance;
    const requestId = `rsv_${String(++this.#reserves).padStart(5, '0')}`;
    const { account, key, group, limits } = this.#clients.script();
    const scripts = Array.from({ length: chance.between(1, this.#itemsMax) }, (_, at) =>
      this.#clients.script({
        ...{ account, key, group, limits, reserve: requestId },
        claim: { name: `${requestId} ${at}`, requestHash: 'hash' },
      }),
    );
    const all = scripts.reduce((sum, script) => sum + amountOf(script), 0);
    const amount = chance.is(0.3) ? chance.below(all + 1) : all; // prices may rise
    const draft = { model: 'sandbox-lorem', stream: false };
    const reserve: Reserve = { kind: 'reserve', requestId, account, key, group, limits, amount, draft };
    const answer = await this.#ask(reserve);
    const lifeMs = chance.below(LIFE_MS_MAX);
    this.#later(lifeMs, () => this.#over.add(requestId));
    if (answer?.ok !== true) return;
    // Once it is stopped, no message begins: the run waits for those that have.
    const submit = (script: (typeof scripts)[number]) => {
      if (!this.isStopped) this.#clients.submit(script);
    };
    for (const script of scripts) this.#later(chance.below(lifeMs + 1), () => submit(script));
  }

  #sweep(): void {
    for (const { requestId, owner } of this.#world.database.tables.holds.values()) {
      if (owner.node !== RESERVED.node || !(this.isStopped || this.#over.has(requestId))) continue;
      void this.#ask({ kind: 'give-back', requestId });
    }
    this.#later(SWEEP_MS, () => this.#sweep());
  }

  /** Asks a node that is there. null: it has no answer. */
  async #ask(operation: Operation): Promise<Answer | null> {
    const { nodes, trace } = this.#world;
    const up = nodes.flatMap(({ run }) => (run === null ? [] : [run]));
    if (up.length === 0) return null;
    try {
      const [answer = null] = await this.#chance.pick(up).ledger.submit({ operations: [operation] });
      if (answer !== null) trace.count(`${operation.kind}: ${answer.ok ? 'done' : answer.reason}`);
      return answer;
    } catch (failure) {
      if ((failure as { code?: string }).code !== 'store_unavailable')
        trace.fail(`a batch was told ${(failure as Error).stack}`);
      return null;
    }
  }
}
