// Passes on the telemetry that coding agents send, as it came, to the operator's collector.

import { bounds, type Config } from '../config/config.ts';
import { overloaded, TurnpikeError } from '../errors.ts';

export type TelemetrySignal = 'metrics' | 'logs' | 'traces';

/** Rejects with overloaded while too many are on their way, and with upstream_failed, without the collector's words. */
export type TelemetryRelay = (signal: TelemetrySignal, contentType: string, body: Uint8Array | Blob) => Promise<void>;

export function telemetryRelay({ url, headers }: NonNullable<Config['agentTelemetry']>): TelemetryRelay {
  let running = 0;
  return async (signal, contentType, body) => {
    if (running >= bounds.telemetryRelaysMax) throw overloaded('Too much telemetry is being passed on. Try again.');
    running++;
    try {
      const answer = await fetch(`${url}/v1/${signal}`, {
        method: 'POST',
        headers: { ...headers, 'content-type': contentType },
        body: body as BodyInit,
        redirect: 'error',
        signal: AbortSignal.timeout(bounds.telemetryRelayMsMax),
      });
      await answer.body?.cancel();
      if (!answer.ok) throw new Error(`the collector answered ${answer.status}`);
    } catch (cause) {
      throw new TurnpikeError('upstream_failed', 'The telemetry could not be passed on.', { cause, retry: false });
    } finally {
      running--;
    }
  };
}
