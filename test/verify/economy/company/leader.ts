// The node that leads: it alone sends the requests of batches. It is killed, and another goes on with what it left. Its catalog changes
// apart from that of the node that clients use, so that prices are others when a batch is made and when its requests are sent.

import type { Clock } from '../../../../src/base/clock.ts';
import type { Catalog } from '../../../../src/catalog/catalog.ts';
import type { FileParts } from '../../../../src/files/files.ts';
import { Files } from '../../../../src/files/files.ts';
import type { Gateway } from '../../../../src/gateway/gateway.ts';
import { BodiesInFlight } from '../../../../src/http/http.ts';
import { NodeLedger } from '../../../../src/ledger/ledger.ts';
import type { Provider } from '../../../../src/providers/providers.ts';
import type { SecretHashes } from '../../../../src/secrets/secrets.ts';
import { type BatchParts, startBatches } from '../../../../src/server/batches.ts';
import type { SpooledFile } from '../../../../src/spool/spool.ts';
import type { Stores } from '../../../../src/storage/stores.ts';
import type { MemoryFiles } from '../../../support/memory-files.ts';
import { type Hooks, makeGateway, publicOver } from '../make-gateway.ts';

export interface LeaderParts {
  stores: Stores;
  clock: Clock;
  provider: Provider;
  hashesOf: SecretHashes;
  memory: MemoryFiles;
  files: Omit<FileParts, 'store' | 'bytes'>;
  hooks: Hooks;
  failures: string[];
}

/** A process, which may be killed. */
interface Life {
  isOver: boolean;
  /** Steps until it is killed; null: it is not. */
  stepsLeft: number | null;
  onKilled(): void;
}

interface LeadingNode {
  life: Life;
  ledger: NodeLedger;
  gateway: Gateway;
  batches: BatchParts;
  stop(): Promise<void>;
  /** Spooled files, which a new process removes. */
  open: Set<SpooledFile>;
}

export class Leader {
  readonly #parts: LeaderParts;
  #catalogFor: (node: string) => Catalog;
  #catalog: Catalog;
  #count = 1;
  #node: LeadingNode;

  /** `catalogFor`: as the node of this name uses it. */
  constructor(parts: LeaderParts, catalogFor: (node: string) => Catalog) {
    this.#parts = parts;
    this.#catalogFor = catalogFor;
    this.#catalog = catalogFor(this.name);
    this.#node = this.#begin();
  }

  get name(): string {
    return `leader-${this.#count}`;
  }

  get gateway(): Gateway {
    return this.#node.gateway;
  }

  get openFiles(): number {
    return this.#node.open.size;
  }

  /** The process ends at once, or at so many calls of its store and network from now: nothing more reaches these. Another begins. */
  kill(steps = 0): void {
    const { life } = this.#node;
    if (steps > 0) {
      life.stepsLeft = steps;
      return;
    }
    life.isOver = true;
    this.#count++;
    this.sellBy(this.#catalogFor);
    this.#node = this.#begin();
  }

  /** Another runner goes on, while the requests of this one end. */
  restart(): void {
    void this.#node.stop();
    this.#node.stop = startBatches(this.#node.batches);
  }

  /** Whether the node of this name may use the network. */
  mayCall(node: string): boolean {
    return node === this.name && !endStep(this.#node.life);
  }

  sellBy(catalogFor: (node: string) => Catalog): void {
    this.#catalogFor = catalogFor;
    this.#catalog = catalogFor(this.name);
  }

  close(): void {
    void this.#node.stop();
    this.#node.ledger.close();
  }

  #begin(): LeadingNode {
    const { clock, memory, files: given, hooks, failures, ...parts } = this.#parts;
    const life: Life = { isOver: false, stepsLeft: null, onKilled: () => queueMicrotask(() => this.kill()) };
    const stores = mortal(parts.stores, life);
    const ledger = new NodeLedger(stores.gate, clock, this.name, undefined, true);
    const gateway = makeGateway({ ...parts, stores, ledger, clock, catalog: this.#catalog });
    gateway.catalog = () => this.#catalog;
    gateway.files = new Files({ ...given, store: stores.files, bytes: mortal(memory.bytes, life) });
    const open = new Set<SpooledFile>();
    const bodies = new BodiesInFlight(() => this.#catalog.settings.shedBodyBytes);
    const batches = {
      store: { stores } as unknown as BatchParts['store'],
      leadership: { isHeld: async () => true } as unknown as BatchParts['leadership'],
      gateway,
      publicApi: publicOver(gateway, bodies, hooks, memory.makeSpool(open)),
      log: {
        writeEvent(event: string, { cause = '' }: { cause?: unknown }) {
          // The run is repeated: the provider cannot be asked whether it has a part, or the previous leader has just ended the batch.
          const isWaiting = /^(?:ProviderFault|Outpaced)/.test(String(cause));
          if (event === 'batch_not_sent' && !isWaiting && !life.isOver) failures.push(`batch: ${cause}`);
        },
      },
      failed: async () => {},
    };
    void ledger.open();
    return { life, ledger, gateway, batches, stop: startBatches(batches), open };
  }
}

/** Whether it was killed before this step. */
function endStep(life: Life): boolean {
  if (life.isOver || life.stepsLeft === null) return life.isOver;
  life.stepsLeft--;
  if (life.stepsLeft > 0) return false;
  life.isOver = true;
  life.onKilled();
  return true;
}

/** The same until the life is over: then nothing is done any more, and nothing that was asked is answered. */
function mortal<Whole extends object>(whole: Whole, life: Life): Whole {
  const never: Promise<never> = Object.assign(new Promise<never>(() => {}), {
    [Symbol.asyncIterator]: () => ({ next: () => never }),
  });
  return new Proxy(whole, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name);
      if (typeof value === 'object' && value !== null) return mortal(value, life);
      if (typeof value !== 'function') return value;
      return (...given: unknown[]) => {
        if (endStep(life)) return never;
        const answer: unknown = value.apply(target, given);
        return answer instanceof Promise ? answer.then((found) => (life.isOver ? never : found)) : answer;
      };
    },
  });
}
