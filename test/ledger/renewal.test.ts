// The renewal of a node's lease over a store that is slow.

import { expect, test } from 'bun:test';
import { machineTimers } from '../../src/base/timers.ts';
import { type Answer, type Bundle, type LedgerGate, NodeLedger } from '../../src/ledger/ledger.ts';
import { memoryStores, sumMemory } from '../../src/storage/memory/memory.ts';
import { openWorkbench } from './workbench.ts';

/** Answers only when it is let go on. */
class SlowGate implements LedgerGate {
  readonly #gate: LedgerGate;
  #held: (() => void)[] | null = null;

  constructor(gate: LedgerGate) {
    this.#gate = gate;
  }

  batches(): number {
    return this.#gate.batches();
  }

  async submit(bundle: Bundle): Promise<Answer[]> {
    const held = this.#held;
    if (held !== null) await new Promise<void>((resolve) => held.push(resolve));
    return this.#gate.submit(bundle);
  }

  hold(): void {
    this.#held = [];
  }

  goOn(): void {
    const held = this.#held ?? [];
    this.#held = null;
    for (const resolve of held) resolve();
  }
}

test('a node whose renewals are slow takes one lease in place of a lost one, and keeps what it admits under it', async () => {
  let gate: SlowGate | undefined;
  await using bench = await openWorkbench((clock) => {
    const stores = memoryStores(clock, (commit) => (gate = new SlowGate(commit)));
    return { stores, sums: () => sumMemory(stores.tables), close: () => {} };
  }, 100);
  if (gate === undefined) throw new Error('there is no gate');
  let renew = () => {};
  const every = (_ms: number, callback: () => void) => {
    renew = callback;
    return () => {};
  };
  const ledger = new NodeLedger(gate, bench.clock, 'node-1', { ...machineTimers, every });
  await ledger.open();
  const lost = await bench.takeLease('node-1'); // another run of it
  gate.hold();
  renew();
  renew();
  renew();
  gate.goOn();
  while (ledger.owner.epoch <= lost.epoch) await Bun.sleep(1);
  const admission = bench.admission(10, { owner: ledger.owner });
  expect(await ledger.admit(admission)).toMatchObject({ ok: true });
  renew();
  await Bun.sleep(20);
  expect(ledger.owner).toEqual({ node: 'node-1', epoch: lost.epoch + 1 });
  expect(await bench.wallet()).toEqual({ balance: 100, held: 10 });
});
