// Callers: they submit messages in bursts, leave some, and try again under the same idempotency key, at once,
// after an error, or when they were answered already; on whichever node is there.

import type { RateLimits } from '../../../src/ledger/ledger.ts';
import type { Chance } from './chance.ts';
import { type Learned, runMessage, type Script } from './message.ts';
import type { SimulatedNode } from './node.ts';
import { Process } from './scheduler.ts';
import type { World } from './world.ts';

const RETRIES_MAX = 6;
const CHUNKS_MAX = 14;

/** How messages are, in one run. */
export interface Load {
  burstMax: number;
  pauseMsMax: number;
  claimed: number;
  streamed: number;
  costMax: number;
  chunkMsMax: number;
  groups: ReadonlyMap<string, RateLimits>;
}

/** A client's goal, with the messages that it submits for it. */
interface Want {
  script: Omit<Script, 'requestId'>;
  tries: number;
  isDone: boolean;
}

export class Clients {
  readonly #world: World;
  readonly #chance: Chance;
  readonly #load: Load;
  readonly #process = new Process();
  #requests = 0;
  #claims = 0;
  /** Messages that their nodes have not ended. */
  readonly #running = new Set<string>();
  isStopped = false;

  constructor(world: World, load: Load) {
    this.#world = world;
    this.#chance = world.chance;
    this.#load = load;
    world.auditor.isRunning = (requestId) => this.#running.has(requestId);
  }

  /** Messages that run on nodes that are up. */
  get running(): number {
    return this.#running.size;
  }

  /** Submits bursts until it is stopped. */
  start(): void {
    if (this.isStopped) return;
    const count = this.#chance.between(1, this.#load.burstMax);
    for (let turn = 0; turn < count; turn++) this.submit();
    this.#later(this.#chance.below(this.#load.pauseMsMax), () => this.start());
  }

  submit(script = this.script()): void {
    const want: Want = { script, tries: 0, isDone: false };
    this.#try(want);
    // An impatient caller: the same again, while the first is still under way.
    if (want.script.claim !== null && this.#chance.is(0.3))
      this.#later(this.#chance.below(2_000), () => this.#try(want));
  }

  #later(ms: number, callback: () => void): void {
    this.#world.scheduler.after(ms, this.#process, callback);
  }

  #try(want: Want): void {
    const { nodes, scheduler, auditor, trace } = this.#world;
    const up = nodes.filter(({ run }) => run !== null);
    if (want.tries++ >= RETRIES_MAX || (this.isStopped && want.tries > 1)) return;
    const { run } = up.length === 0 ? { run: null } : (this.#chance.pick(up) as SimulatedNode);
    if (run === null) {
      this.#again(want);
      return;
    }
    const script = { ...want.script, requestId: `req_${String(++this.#requests).padStart(5, '0')}` };
    this.#running.add(script.requestId);
    let isOver = false;
    const over = (learned: Learned) => {
      if (isOver) return;
      isOver = true;
      this.#running.delete(script.requestId);
      run.onCrash.delete(broken);
      this.#learn(want, learned);
    };
    const broken = () => over({ kind: 'broken' });
    run.onCrash.add(broken);
    const timers = scheduler.timersOf(run.process);
    runMessage(script, { run, timers, auditor, trace }).then(over, (failure) =>
      trace.fail(`a message threw: ${(failure as Error).stack}`),
    );
  }

  #learn(want: Want, learned: Learned): void {
    const { trace } = this.#world;
    if (want.script.claim === null) return;
    if (learned.kind === 'complete' || learned.kind === 'left') {
      // Repeats the request, to get the stored answer.
      if (this.#chance.is(0.3)) this.#again(want);
      return;
    }
    if (learned.kind === 'refused' && learned.reason === 'claim_mismatch') trace.fail('the same request is another');
    if (learned.kind === 'broken' || (learned.kind === 'refused' && learned.reason === 'claim_running'))
      this.#again(want);
  }

  #again(want: Want): void {
    this.#later(this.#chance.between(50, 6_000), () => this.#try(want));
  }

  /** A message, with these of its facts. */
  script(facts: Partial<Want['script']> = {}): Want['script'] {
    const chance = this.#chance;
    const { costMax, chunkMsMax, groups } = this.#load;
    const { account, key } = chance.pick(this.#world.callers);
    const [group, limits] = chance.pick([...groups]);
    const chunks = Array.from({ length: chance.between(1, CHUNKS_MAX) }, () => ({
      afterMs: chance.between(1, chunkMsMax),
      cost: chance.below(costMax),
    }));
    const turn = chance.below(12);
    return {
      account,
      key,
      group,
      limits,
      claim: chance.is(this.#load.claimed) ? { name: `claim ${++this.#claims}`, requestHash: 'hash' } : null,
      reserve: null,
      stream: chance.is(this.#load.streamed),
      inputCost: chance.below(costMax * 2),
      inputMargin: chance.below(costMax),
      tranche: chance.between(1, costMax * 4),
      isModest: chance.is(0.6),
      chunks,
      unseenCost: chance.is(0.2) ? chance.below(costMax * 4) : 0,
      end: turn === 0 ? 'failed' : turn === 1 ? 'upstream_cut' : 'completed',
      leavesAfter: chance.is(0.15) ? chance.below(chunks.length + 1) : null,
      againAfterMs: chance.is(0.15) ? chance.pick([0, 5, 500, 20_000]) : null,
      ...facts,
    };
  }
}
