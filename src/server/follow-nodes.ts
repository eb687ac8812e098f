// What this node does with what others changed: each change is taken as if it had been made here.

import type { AdminMove } from '../admin-api/admin-api.ts';
import type { Gateway } from '../gateway/gateway.ts';
import { describeFailure, type LogWriter } from '../observability/observability.ts';
import type { ChangeFeed } from '../storage/postgres/postgres.ts';
import type { CatalogueReader } from './catalogue-reader.ts';
import { type Following, followChanges } from './follow-changes.ts';

export interface FollowedParts {
  feed: ChangeFeed;
  /** Read before anything was that is remembered. */
  epoch: number;
  gateway: Gateway;
  catalogueReader: CatalogueReader;
  moveAdmin(setting: string | null): AdminMove | null;
  log: LogWriter;
}

/** Begins at once. */
export function followNodes({ feed, epoch, gateway, catalogueReader, moveAdmin, log }: FollowedParts): Following {
  const { ledger, running, gatehouse } = gateway;
  const adminListen = () => gateway.catalogue().settings.adminListen;
  return followChanges({
    feed,
    epoch,
    log,
    forgetKey(id) {
      gatehouse.keys.forget(id);
      ledger.forgetRefusals();
    },
    forgetAccount(id) {
      gatehouse.keys.forgetAccount(id);
      ledger.forgetRefusals();
    },
    forgetAll() {
      gatehouse.keys.forgetAll();
      ledger.forgetRefusals();
    },
    cutKey: (id) => running.cutKey(id),
    async readCatalogue() {
      const before = adminListen();
      await catalogueReader.read();
      if (adminListen() !== before) moveAdminPort(moveAdmin, adminListen(), log);
    },
  });
}

/** Where the port cannot be had here, the admin API of this node stays where it is. */
function moveAdminPort(moveAdmin: FollowedParts['moveAdmin'], setting: string | null, log: LogWriter): void {
  try {
    using move = moveAdmin(setting);
    move?.keep();
  } catch (failure) {
    log.write({ at: new Date().toISOString(), event: 'admin_port_not_moved', cause: describeFailure(failure) });
  }
}
