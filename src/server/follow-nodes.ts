// Applies changes of other nodes as if they had been made here.

import type { AdminMove } from '../admin-api/admin-api.ts';
import { type CatalogHolder, type CatalogStore, DocumentBroken } from '../catalog/catalog.ts';
import { bounds } from '../config/config.ts';
import type { Gateway } from '../gateway/gateway.ts';
import { isStoreBusy, type NodeLedger } from '../ledger/ledger.ts';
import { describeFailure, type LogWriter } from '../observability/observability.ts';
import { SealBroken } from '../secrets/secrets.ts';
import type { Change, ChangeFeed } from '../storage/postgres/postgres.ts';
import { DocumentUnreadable } from '../storage/storage.ts';
import { type Observers, reportInternalFailure } from './observe.ts';

/** The node's reactions to changes. */
export interface FollowParts {
  feed: Pick<ChangeFeed, 'readEpoch' | 'readSince'>;
  /** Read before anything was cached. */
  epoch: number;
  forgetKey(id: number): void;
  forgetAccount(id: number): void;
  forgetPerson(id: number): void;
  /** Forgets all accounts, keys and refusals. */
  forgetAll(): void;
  cutKey(id: number): void;
  /** Throws store_unavailable, and the error of an invalid document. */
  readCatalog(): Promise<void>;
  log: Pick<LogWriter, 'writeEvent'>;
  /** Called for every failure but that of the store, which the ledger reports. */
  onFailure(failure: unknown): void;
}

interface Following {
  /** False if the store has not responded for a while: load balancers may send messages elsewhere. */
  isHearing(): boolean;
  stop(): Promise<void>;
}

/** Starts at once. */
export function followChanges(parts: FollowParts): Following {
  const { feed } = parts;
  const stopping = Promise.withResolvers<'stopped'>();
  let { epoch } = parts;
  /** Polls in a row in which a change could not be applied. */
  let failedPolls = 0;
  /** The start of the last successful poll. */
  let heardMs = performance.now();
  const silentMs = () => performance.now() - heardMs;
  const poll = async () => {
    const found = await feed.readSince(epoch);
    if (found === null) {
      const newest = await feed.readEpoch(); // before anything is read again
      parts.forgetAll();
      await readCatalog(parts);
      epoch = newest;
      failedPolls = 0;
      return;
    }
    const areApplied = await applyChanges(parts, found.changes);
    failedPolls = areApplied ? 0 : failedPolls + 1;
    if (areApplied || failedPolls >= bounds.changeAppliesMax) {
      epoch = found.epoch;
      failedPolls = 0;
    }
    if (!areApplied) parts.forgetAll();
  };
  const run = async () => {
    // Runs concurrently with the loop, which waits for responses.
    const watch = setInterval(() => silentMs() > bounds.changesSilenceMsMax && parts.forgetAll(), bounds.changesPollMs);
    for (let isStopped = false; !isStopped; ) {
      const askedMs = performance.now();
      try {
        await poll();
        heardMs = askedMs;
      } catch (failure) {
        // Retried at the next poll; caches are invalidated meanwhile.
        if (!isStoreBusy(failure)) parts.onFailure(failure);
      }
      isStopped = (await Promise.race([Bun.sleep(bounds.changesPollMs), stopping.promise])) === 'stopped';
    }
    clearInterval(watch);
  };
  const ended = run();
  return {
    isHearing: () => silentMs() < bounds.changesDeafMs,
    stop() {
      stopping.resolve('stopped');
      return ended;
    },
  };
}

/**
 * Applies each change, also after one that fails: a broken change must not keep the others from this node. Returns whether
 * all are applied.
 */
async function applyChanges(parts: FollowParts, changes: readonly Change[]): Promise<boolean> {
  let areApplied = true;
  for (const change of withoutRepetitions(changes)) {
    try {
      if (change.kind === 'key') parts.forgetKey(change.id);
      else if (change.kind === 'account') parts.forgetAccount(change.id);
      else if (change.kind === 'person') parts.forgetPerson(change.id);
      else if (change.kind === 'cut') parts.cutKey(change.id);
      else await readCatalog(parts);
    } catch (failure) {
      if (isStoreBusy(failure)) throw failure;
      areApplied = false;
      parts.onFailure(failure);
    }
  }
  return areApplied;
}

const UNREADABLE = [DocumentBroken, DocumentUnreadable, SealBroken] as const;

/** A catalog that cannot be read, such as one sealed with an unknown secret, leaves the present one in force. */
async function readCatalog(parts: FollowParts): Promise<void> {
  try {
    await parts.readCatalog();
  } catch (failure) {
    if (!UNREADABLE.some((kind) => failure instanceof kind)) throw failure;
    parts.log.writeEvent('catalogue_not_taken', { cause: describeFailure(failure) });
  }
}

/** A catalog of several documents is read once. */
function withoutRepetitions(changes: readonly Change[]): Change[] {
  const catalogAt = changes.findLastIndex(({ kind }) => kind === 'catalog');
  return changes.filter(({ kind }, at) => kind !== 'catalog' || at === catalogAt);
}

interface FollowedParts extends Pick<FollowParts, 'feed' | 'epoch'> {
  observers: Pick<Observers, 'log' | 'metrics'>;
  gateway: Gateway;
  catalogReader: CatalogReader;
  moveAdmin(setting: string | null): AdminMove | null;
}

/** Starts at once. */
export function followNodes({ gateway, catalogReader, moveAdmin, observers, ...parts }: FollowedParts): Following {
  const { ledger, running, authenticator } = gateway;
  const adminListen = () => gateway.catalog().settings.adminListen;
  return followChanges({
    ...parts,
    log: observers.log,
    onFailure: (failure) => reportInternalFailure(observers, 'changes', failure),
    forgetKey(id) {
      authenticator.keys.forget(id);
      ledger.forgetRefusals();
    },
    forgetAccount(id) {
      authenticator.keys.forgetAccount(id);
      gateway.recharges?.forget(id);
      ledger.forgetRefusals();
    },
    forgetPerson(id) {
      authenticator.keys.forgetPerson(id);
      ledger.forgetRefusals();
    },
    forgetAll() {
      authenticator.keys.forgetAll();
      ledger.forgetRefusals();
    },
    cutKey: (id) => running.cutKey(id),
    async readCatalog() {
      const before = adminListen();
      await catalogReader.read();
      if (adminListen() === before) return;
      try {
        using move = moveAdmin(adminListen());
        move?.keep();
      } catch (failure) {
        // The port is unavailable here: the admin API of this node stays where it is.
        observers.log.writeEvent('admin_port_not_moved', { cause: describeFailure(failure) });
      }
    },
  });
}

export type CatalogReader = ReturnType<typeof makeCatalogReader>;

/** Makes the stored catalog current. */
export function makeCatalogReader(
  store: Pick<CatalogStore, 'loadCatalog'>,
  holder: CatalogHolder,
  ledger: Pick<NodeLedger, 'forgetRefusals'>,
) {
  let running: Promise<void> = Promise.resolve();
  /** Begins after the running read, and serves all who ask before that. */
  let next: Promise<void> | null = null;
  const readNext = async () => {
    await running.catch(() => {}); // its callers get the error
    running = next ?? running;
    next = null;
    holder.swap(await store.loadCatalog());
    ledger.forgetRefusals();
  };
  return {
    /**
     * When it resolves, everything stored before the call is current. Throws store_unavailable, DocumentBroken,
     * SealBroken; then the catalog is unchanged.
     */
    read(): Promise<void> {
      next ??= readNext();
      return next;
    },
  };
}
