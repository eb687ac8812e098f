// The gateway over the parts of this process.

import { FailureCounter, KeyDirectory } from '../accounts/accounts.ts';
import type { Clock } from '../base/clock.ts';
import type { CatalogueHolder } from '../catalog/catalog.ts';
import { callsThroughProxy } from '../config.ts';
import {
  Conversations,
  Covers,
  type Gateway,
  KeptAnswers,
  LastLevels,
  OwnReads,
  PromptCounts,
  RouteHealth,
  RunningMessages,
  Seats,
  SilenceWatches,
} from '../gateway/gateway.ts';
import { canConnect, providerKinds } from '../providers/providers.ts';
import { formerHashes } from './change-secret.ts';
import { openEstimates } from './keep-learned.ts';
import { lookUpsOf } from './known-secret.ts';
import { type Observers, tellMessage } from './observe.ts';
import type { OpenStore } from './open-store.ts';
import type { Closing } from './server.ts';

export async function makeGateway(
  store: OpenStore,
  holder: CatalogueHolder,
  observers: Observers,
  clock: Clock,
  closing: Closing,
): Promise<Gateway> {
  const { vault, stores, ledger } = store;
  return {
    catalogue: () => holder.current,
    gatehouse: {
      keys: new KeyDirectory(lookUpsOf(store), vault.hash, formerHashes(store, 'key_secrets')),
      failures: new FailureCounter(),
    },
    ledger,
    providers: providerKinds,
    running: new RunningMessages(),
    seats: new Seats(() => holder.current.settings.shedOpenMessages),
    counting: new PromptCounts(),
    silence: new SilenceWatches(),
    covers: new Covers(),
    estimates: await openEstimates(stores.learned, closing),
    levels: new LastLevels(),
    answers: new KeptAnswers(stores.answers, vault),
    ownReads: new OwnReads({ ...stores.ledger, ...stores.usage }),
    clock,
    health: new RouteHealth(() => holder.current.settings.circuitFailures ?? Number.POSITIVE_INFINITY, clock.nowMs),
    conversations: new Conversations(Math.random),
    // Through a proxy the hosts themselves need not be within reach.
    canConnect: callsThroughProxy() ? async () => true : canConnect,
    ...(observers.telemetry?.trace && { trace: observers.telemetry.trace }),
    report: (message) => tellMessage(observers, message),
  };
}
