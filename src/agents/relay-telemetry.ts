// Passes on the telemetry that coding agents send, with labels of the sign-in, to the operator's collector.

import { FairShareQuota } from '../base/fair-share-quota.ts';
import { bounds, type Config } from '../config/config.ts';
import { overloaded, TurnpikeError } from '../errors.ts';
import { labelTelemetry, type TelemetryLabels } from './label-telemetry.ts';

export type TelemetrySignal = 'metrics' | 'logs' | 'traces';

/** Numbers of the topmost account and of the person, and the labels that their telemetry gets. */
export interface TelemetrySender {
  company: number;
  person: number;
  labels: TelemetryLabels;
}

export interface TelemetryRelay {
  /** Counts a request before its body is read. Throws requests_rate_exceeded. */
  admit(sender: TelemetrySender, nowMs: number): void;
  /**
   * Rejects with content_type_unsupported, invalid_request, requests_rate_exceeded, with overloaded while too many are on their way, and
   * with upstream_failed, without the collector's words.
   */
  pass(
    sender: TelemetrySender,
    signal: TelemetrySignal,
    contentType: string,
    body: Uint8Array,
    nowMs: number,
  ): Promise<void>;
}

const CONTENT_TYPE = /^application\/(x-protobuf|json)\s*(?:;|$)/i;

export function telemetryRelay({ url, headers }: NonNullable<Config['agentTelemetry']>): TelemetryRelay {
  const rates = new SenderRates();
  const running = new FairShareQuota(() => bounds.telemetryRelaysMax);
  return {
    admit: ({ person }, nowMs) => rates.take(person, 1, 0, nowMs),
    async pass({ company, person, labels }, signal, contentType, body, nowMs) {
      const format = CONTENT_TYPE.exec(contentType)?.[1]?.toLowerCase();
      if (format === undefined)
        throw new TurnpikeError(
          'content_type_unsupported',
          'content-type: must be application/x-protobuf or application/json.',
        );
      rates.take(person, 0, body.length, nowMs);
      if (running.take(company, 1) !== null) throw overloaded('Too much telemetry is being passed on. Try again.');
      try {
        const labelled = labelTelemetry(signal, format === 'json', body, labels);
        await send(`${url}/v1/${signal}`, { ...headers, 'content-type': `application/${format}` }, labelled);
      } finally {
        running.giveBack(company, 1);
      }
    },
  };
}

async function send(url: string, headers: Record<string, string>, body: Uint8Array): Promise<void> {
  try {
    const signal = AbortSignal.timeout(bounds.telemetryRelayMsMax);
    const answer = await fetch(url, { method: 'POST', headers, body: body as BodyInit, redirect: 'error', signal });
    await answer.body?.cancel();
    if (!answer.ok) throw new Error(`the collector answered ${answer.status}`);
  } catch (cause) {
    throw new TurnpikeError('upstream_failed', 'The telemetry could not be passed on.', { cause, retry: false });
  }
}

const MINUTE_MS = 60_000;

/** Counts what each person sent to this node in the last minute, oldest window first. */
class SenderRates {
  readonly #windows = new Map<number, { startMs: number; requests: number; bytes: number }>();

  /** Throws requests_rate_exceeded. */
  take(person: number, requests: number, bytes: number, nowMs: number): void {
    let window = this.#windows.get(person);
    if (window === undefined || nowMs - window.startMs >= MINUTE_MS) {
      window = { startMs: nowMs, requests: 0, bytes: 0 };
      this.#windows.delete(person);
      this.#windows.set(person, window);
      const [oldest] = this.#windows.keys();
      if (this.#windows.size > bounds.telemetrySendersMax && oldest !== undefined) this.#windows.delete(oldest);
    }
    window.requests += requests;
    window.bytes += bytes;
    const { telemetryRequestsPerMinuteMax, telemetryBytesPerMinuteMax } = bounds;
    if (window.requests <= telemetryRequestsPerMinuteMax && window.bytes <= telemetryBytesPerMinuteMax) return;
    const retryAfterMs = window.startMs + MINUTE_MS - nowMs;
    throw new TurnpikeError('requests_rate_exceeded', 'You send too much telemetry. Try again later.', {
      retryAfterMs,
    });
  }
}
