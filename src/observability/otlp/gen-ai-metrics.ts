// Metrics of the GenAI conventions. Everything else is at /metrics, which a collector can scrape.

import type { Attributes, Histogram, Meter } from '@opentelemetry/api';
import type { MessageReport } from '../../gateway/gateway.ts';
import * as names from './conventions.ts';

// Bounds from the conventions.
const TOKENS = Array.from({ length: 14 }, (_, power) => 4 ** power);
const DURATION_SECONDS = Array.from({ length: 14 }, (_, power) => 0.01 * 2 ** power);
const FIRST_TOKEN_SECONDS = [0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10];

export class GenAiMetrics {
  readonly #tokens: Histogram;
  readonly #duration: Histogram;
  readonly #firstToken: Histogram;

  constructor(meter: Meter) {
    const make = (name: string, unit: string, description: string, explicitBucketBoundaries: number[]) =>
      meter.createHistogram(name, { unit, description, advice: { explicitBucketBoundaries } });
    this.#tokens = make('gen_ai.client.token.usage', '{token}', 'Number of input and output tokens used.', TOKENS);
    this.#duration = make(
      'gen_ai.server.request.duration',
      's',
      'Generative AI server request duration such as time-to-last byte or last output token.',
      DURATION_SECONDS,
    );
    this.#firstToken = make(
      'gen_ai.server.time_to_first_token',
      's',
      'Time to generate first token for successful responses.',
      FIRST_TOKEN_SECONDS,
    );
  }

  countMessage({ record, clientRequest, code, providerKind }: MessageReport): void {
    const { times } = clientRequest;
    const attributes: Attributes = {
      [names.OPERATION]: names.CHAT,
      [names.PROVIDER]: providerKind === null ? 'turnpike' : names.providerName(providerKind),
      [names.REQUEST_MODEL]: record.model,
      // The name on the route: names reported by providers are unbounded.
      ...(record.upstreamModel !== null && { [names.RESPONSE_MODEL]: record.upstreamModel }),
    };
    if (record.usageSource !== 'none') {
      this.#tokens.record(names.inputTokens(record), { ...attributes, [names.TOKEN_TYPE]: 'input' });
      this.#tokens.record(record.outputTokens, { ...attributes, [names.TOKEN_TYPE]: 'output' });
    }
    if (times.settledMs !== null)
      this.#duration.record((times.settledMs - times.startedMs) / 1000, {
        ...attributes,
        ...(code !== null && { [names.ERROR_TYPE]: code }),
      });
    if (record.stream && times.answeredMs !== null && code === null)
      this.#firstToken.record((times.answeredMs - times.startedMs) / 1000, attributes);
  }
}
