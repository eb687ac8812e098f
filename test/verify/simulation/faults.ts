// Faults of a run and their times: nodes crash and are suspended, clocks jump, the store refuses and is slow. Each
// run has some kinds of faults only, so that each occurs in many contexts.

import type { Chance } from './chance.ts';
import type { StoreFaults } from './database.ts';
import type { NetworkFaults } from './network.ts';
import { Process } from './scheduler.ts';
import type { World } from './world.ts';

const SUSPENDED_MS_MAX = 90_000;
const JUMP_MS_MAX = 600_000;

/** How often what goes wrong in one run, of 1; those of nodes, clocks and the store each time that faults are drawn. */
export interface FaultPlan {
  store: StoreFaults;
  network: NetworkFaults;
  pauseMsMax: number;
  crash: number;
  suspend: number;
  jump: number;
  refuse: number;
  slow: number;
  neverBack: number;
}

export function drawFaults(chance: Chance): FaultPlan {
  // Half of all kinds are absent from a run.
  const rate = (most: number) => (chance.is(0.5) ? 0 : (chance.between(1, 100) * most) / 100);
  return {
    store: {
      crashBefore: rate(0.02),
      crashAfter: rate(0.02),
      crashTold: rate(0.01),
      cutBefore: rate(0.05),
      cutAfter: rate(0.05),
    },
    network: { lostQuestion: rate(0.04), lostAnswer: rate(0.04), delivery: rate(0.2) },
    pauseMsMax: chance.between(1_000, 20_000),
    crash: rate(0.3),
    suspend: rate(0.4),
    jump: rate(0.3),
    refuse: rate(0.2),
    slow: rate(0.3),
    neverBack: rate(0.5),
  };
}

export class FaultMaker {
  readonly #world: World;
  readonly #plan: FaultPlan;
  readonly #chance: Chance;
  readonly #process = new Process();
  #isStopped = false;

  constructor(world: World, plan: FaultPlan) {
    this.#world = world;
    this.#plan = plan;
    this.#chance = world.chance;
    world.database.faults = plan.store;
    world.network.faults = plan.network;
    for (const node of world.nodes) node.downMs = () => this.#downMs();
  }

  start(): void {
    if (this.#isStopped) return;
    this.#world.scheduler.after(this.#chance.below(this.#plan.pauseMsMax), this.#process, () => {
      if (!this.#isStopped) this.#act();
      this.start();
    });
  }

  /** From now on nothing goes wrong; who is suspended goes on, and who is down stays so or comes back. */
  stop(): void {
    this.#isStopped = true;
    const { database, network, nodes } = this.#world;
    database.faults = null;
    database.refusesUntilMs = 0;
    database.slowUntilMs = 0;
    network.faults = null;
    for (const node of nodes) node.resume();
  }

  #act(): void {
    const { nodes, database, scheduler, trace } = this.#world;
    const chance = this.#chance;
    const { crash, suspend, jump, refuse, slow } = this.#plan;
    const node = chance.pick(nodes);
    if (chance.is(crash)) node.crash('of its own');
    if (chance.is(suspend)) node.suspend(chance.is(0.5) ? chance.below(5_000) : chance.below(SUSPENDED_MS_MAX));
    if (chance.is(jump)) this.#jump();
    if (chance.is(refuse)) {
      trace.note('the store refuses');
      database.refusesUntilMs = scheduler.nowMs + chance.below(20_000);
    }
    if (chance.is(slow)) {
      trace.note('the store is slow');
      database.slowUntilMs = scheduler.nowMs + chance.below(10_000);
    }
  }

  #jump(): void {
    const { nodes, database, trace } = this.#world;
    const chance = this.#chance;
    const ms = chance.is(0.5) ? chance.between(-2_000, 2_000) : chance.between(-JUMP_MS_MAX, JUMP_MS_MAX);
    const clock = chance.is(0.5) ? database : chance.pick(nodes);
    clock.offsetMs += ms;
    trace.note(`a clock jumps by ${ms}`);
    trace.count(`clock jumped ${clock === database ? 'of the store' : 'of a node'} ${ms < 0 ? 'backward' : 'forward'}`);
  }

  /** At least one node comes back always: someone has to end what the others left. */
  #downMs(): number | null {
    const { nodes } = this.#world;
    const others = nodes.filter(({ isGone }) => !isGone).length;
    if (!this.#isStopped && others > 1 && this.#chance.is(this.#plan.neverBack)) return null;
    return this.#chance.between(100, this.#chance.is(0.5) ? 2_000 : 30_000);
  }
}
