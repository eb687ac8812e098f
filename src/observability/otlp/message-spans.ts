// The spans of one message: the server's own, and a client's for each attempt. Made of names, numbers, codes and what the message is
// attributed to: there is no place where a text of a message or a secret could get in.

import {
  type Attributes,
  type Context,
  createTraceState,
  ROOT_CONTEXT,
  type Span,
  SpanKind,
  SpanStatusCode,
  type Tracer,
  trace,
} from '@opentelemetry/api';
import { parseHex, parseWholeNumber } from '../../base/checked-number.ts';
import { formatId } from '../../base/ids.ts';
import { NANO_PER_USD } from '../../base/money.ts';
import type { TraceContext } from '../../base/trace-context.ts';
import type { MessageReport, MessageTrace, TracedRoute, TraceStart } from '../../gateway/gateway.ts';
import type { Answered } from '../../public-api/public-api.ts';
import * as names from './conventions.ts';

/** Outcomes that are failures of the service or a provider; a client's disconnect or limit is not. */
const FAILURES = ['failed', 'upstream_cut', 'service_cut'];

export class MessageSpans implements MessageTrace {
  readonly #tracer: Tracer;
  readonly #span: Span;
  readonly #context: Context;
  /** Added to `performance.now()`: the time of spans. */
  readonly #epochMs: number;
  #attempt: Span | null = null;

  constructor(tracer: Tracer, { requestId, receivedAtMs, startedMs, parent }: TraceStart) {
    this.#tracer = tracer;
    this.#epochMs = receivedAtMs - startedMs;
    const attributes = { [names.OPERATION]: names.CHAT, 'turnpike.request_id': requestId };
    const outside = contextOf(parent);
    this.#span = tracer.startSpan(names.CHAT, { kind: SpanKind.SERVER, startTime: receivedAtMs, attributes }, outside);
    this.#context = trace.setSpan(outside, this.#span);
  }

  beginAttempt({ provider, kind, baseUrl, model }: TracedRoute): TraceContext {
    this.#attempt = this.#tracer.startSpan(
      `${names.CHAT} ${model}`,
      {
        kind: SpanKind.CLIENT,
        startTime: this.#now(),
        attributes: {
          [names.OPERATION]: names.CHAT,
          [names.PROVIDER]: names.providerName(kind),
          [names.REQUEST_MODEL]: model,
          'turnpike.provider': provider,
          ...serverOf(baseUrl),
        },
      },
      this.#context,
    );
    const { traceId, spanId, traceFlags, traceState } = this.#attempt.spanContext();
    const flags = traceFlags.toString(16).padStart(2, '0');
    return { traceparent: `00-${traceId}-${spanId}-${flags}`, tracestate: traceState?.serialize() || null };
  }

  endAttempt(result: string, status: number | null): void {
    if (this.#attempt === null) return;
    if (status !== null) this.#attempt.setAttribute(names.STATUS_CODE, status);
    if (result === 'answered') return;
    this.#attempt.setAttribute(names.ERROR_TYPE, result).setStatus({ code: SpanStatusCode.ERROR }).end(this.#now());
    this.#attempt = null;
  }

  end(message: MessageReport): void {
    const { record, code } = message;
    const { times } = message.clientRequest;
    const endMs = this.#now();
    const isFailure = FAILURES.includes(record.outcome);
    if (this.#attempt !== null) {
      this.#attempt.setAttributes(responseAttributes(message));
      if (isFailure)
        this.#attempt.setAttribute(names.ERROR_TYPE, record.outcome).setStatus({ code: SpanStatusCode.ERROR });
      this.#attempt.end(endMs);
    }
    if (this.#span.isRecording()) {
      this.#span.updateName(`${names.CHAT} ${record.model}`).setAttributes(messageAttributes(message));
      if (isFailure) this.#span.setStatus({ code: SpanStatusCode.ERROR, ...(code !== null && { message: code }) });
      this.#note('turnpike.admitted', times.admittedMs);
      this.#note('turnpike.first_token', record.stream ? times.answeredMs : null);
      this.#note('turnpike.settled', times.settledMs);
    }
    this.#span.end(endMs);
  }

  #note(event: string, atMs: number | null): void {
    if (atMs !== null) this.#span.addEvent(event, this.#epochMs + atMs);
  }

  #now(): number {
    return this.#epochMs + performance.now();
  }
}

/** A refused message: one span without a model in its name, because the requested name may be anything. */
export function traceRefusal(tracer: Tracer, answer: Answered, code: string): void {
  const { requestId, receivedAtMs, durationMs, status, clientRequest } = answer;
  const caller = clientRequest?.caller ?? null;
  const attributes = {
    [names.OPERATION]: names.CHAT,
    [names.ERROR_TYPE]: code,
    [names.STATUS_CODE]: status,
    'turnpike.request_id': requestId,
    'turnpike.outcome': 'refused',
    ...(caller && {
      [names.ACCOUNT]: formatId('acct', caller.account.id),
      [names.KEY]: formatId('key', caller.key.id),
    }),
  };
  const started = { kind: SpanKind.SERVER, startTime: receivedAtMs, attributes };
  const span = tracer.startSpan(names.CHAT, started, contextOf(clientRequest?.trace ?? null));
  if (status >= 500) span.setStatus({ code: SpanStatusCode.ERROR, message: code });
  span.end(receivedAtMs + durationMs);
}

/** The client's span as the parent, if it sent one. */
function contextOf(parent: TraceContext | null): Context {
  if (parent === null) return ROOT_CONTEXT;
  const [, traceId = '', spanId = '', flags = ''] = parent.traceparent.split('-');
  return trace.setSpanContext(ROOT_CONTEXT, {
    traceId,
    spanId,
    traceFlags: (parseHex(flags) ?? 0) & 1,
    isRemote: true,
    ...(parent.tracestate !== null && { traceState: createTraceState(parent.tracestate) }),
  });
}

/** Address of a provider; nothing for one inside the service. */
function serverOf(baseUrl: string): Attributes {
  if (!URL.canParse(baseUrl)) return {};
  const { hostname, port, protocol } = new URL(baseUrl);
  return { 'server.address': hostname, 'server.port': parseWholeNumber(port) || (protocol === 'https:' ? 443 : 80) };
}

function messageAttributes(message: MessageReport): Attributes {
  const { record, code, providerKind } = message;
  return {
    [names.REQUEST_MODEL]: record.model,
    [names.REQUEST_STREAM]: record.stream,
    ...(providerKind !== null && { [names.PROVIDER]: names.providerName(providerKind) }),
    ...(code !== null && { [names.ERROR_TYPE]: code }),
    [names.STATUS_CODE]: record.status,
    ...responseAttributes(message),
    'turnpike.outcome': record.outcome,
    'turnpike.group': record.group,
    'turnpike.attempts': record.attempts.length,
    'turnpike.usage_source': record.usageSource,
    'turnpike.cost_usd': record.cost / NANO_PER_USD,
    'turnpike.written_off_usd': record.writtenOff / NANO_PER_USD,
    ...attributionOf(message),
  };
}

function attributionOf({ record, caller: { person } }: MessageReport): Attributes {
  const { account, key, tags, session, agent } = record;
  const attributes: Attributes = {
    [names.ACCOUNT]: formatId('acct', account),
    [names.KEY]: formatId('key', key),
    ...(person !== null && { [names.PERSON]: formatId('person', person.id) }),
  };
  if (session !== null) attributes[names.SESSION] = session;
  if (agent !== null) attributes[names.AGENT] = agent;
  for (const [name, value] of Object.entries(tags)) attributes[`turnpike.tag.${name}`] = value;
  return attributes;
}

/** Attributes of the response, as far as there was one. */
function responseAttributes({ record, clientRequest, responseModel, stopReason }: MessageReport): Attributes {
  const { times } = clientRequest;
  const attributes: Attributes = {};
  if (responseModel !== null) attributes[names.RESPONSE_MODEL] = responseModel;
  if (stopReason !== null) attributes[names.FINISH_REASONS] = [stopReason];
  if (record.stream && times.answeredMs !== null)
    attributes[names.TIME_TO_FIRST_CHUNK] = (times.answeredMs - times.startedMs) / 1000;
  if (record.usageSource === 'none') return attributes;
  attributes[names.INPUT_TOKENS] = names.inputTokens(record);
  attributes[names.OUTPUT_TOKENS] = record.outputTokens;
  attributes[names.CACHE_READ_TOKENS] = record.cacheReadTokens;
  attributes[names.CACHE_CREATION_TOKENS] = record.cacheWrite5mTokens + record.cacheWrite1hTokens;
  return attributes;
}
