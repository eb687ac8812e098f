// The public API over the gateway of this process.

import { parseRange } from '../base/address-range.ts';
import type { Config } from '../config.ts';
import {
  countTokens,
  type Gateway,
  getKey,
  getModel,
  getUsage,
  listModels,
  submitMessage,
} from '../gateway/gateway.ts';
import { BodiesInFlight, LoopDelay } from '../http/http.ts';
import { watchEventLoop } from '../observability/observability.ts';
import type { PublicDependencies } from '../public-api/public-api.ts';
import type { StopState } from './drain.ts';
import { type Observers, tellAnswer } from './observe.ts';
import type { Closing } from './server.ts';

export function makePublic(
  config: Config,
  gateway: Gateway,
  state: StopState,
  isStoreThere: () => boolean,
  observers: Observers,
  closing: Closing,
): PublicDependencies {
  const settings = () => gateway.catalogue().settings;
  const loopDelay = new LoopDelay();
  const stopWatching = watchEventLoop((seconds) => {
    observers.metrics.observeEventLoopDelay(seconds);
    loopDelay.see(seconds * 1000);
  });
  closing.push(stopWatching);
  return {
    messages: {
      submitMessage: (submission) => submitMessage(gateway, submission),
      countTokens: (submission) => countTokens(gateway, submission),
      listModels: (submission) => listModels(gateway, submission),
      getModel: (submission, id) => getModel(gateway, submission, id),
      getKey: (submission) => getKey(gateway, submission),
      getUsage: (submission, requestId) => getUsage(gateway, submission, requestId),
    },
    bodies: new BodiesInFlight(() => settings().shedBodyBytes),
    load: { loopDelayMs: () => loopDelay.standingMs, openMessages: () => gateway.seats.taken },
    clock: gateway.clock,
    settings,
    trustedProxies: config.trustedProxies.map(parseRange).filter((range) => range !== null),
    isLeaving: () => state.isLeaving,
    isDraining: () => state.isDraining,
    isStoreAvailable: () => gateway.ledger.isAvailable && isStoreThere(),
    report: (answered) => tellAnswer(observers, answered),
  };
}
