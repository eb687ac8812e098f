// Webhook requests of the provider: verified, then the payment that they are about is brought to its present state. A
// request is answered with success only when that is durable; otherwise the provider sends it again.

import type { Actor, AuditRecord } from '../audit/audit.ts';
import { bounds } from '../config/config.ts';
import type { PaymentRow } from './payment.ts';
import { ProviderError, type ProviderEvent } from './provider.ts';
import { type PaymentDependencies, type PaymentSync, paymentActor, type SyncCause, unlessOutpaced } from './sync.ts';

/** Brings a subscription, and the plan that it pays for, to its present state. */
export interface SubscriptionSync {
  sync(subscription: string): Promise<void>;
}

export interface EventRequest {
  body: Uint8Array;
  headers: Headers;
  /** Address of the sender, for the audit log. */
  address: string;
  requestId: string;
}

export class EventReceiver {
  readonly #on: PaymentDependencies;
  readonly #sync: PaymentSync;
  readonly #subscriptions: SubscriptionSync | null;
  readonly #refusals = { count: 0, recordedAtMs: Number.NEGATIVE_INFINITY };
  /** Requests refused since the start. */
  refusedCount = 0;

  constructor(dependencies: PaymentDependencies, sync: PaymentSync, subscriptions: SubscriptionSync | null) {
    this.#on = dependencies;
    this.#sync = sync;
    this.#subscriptions = subscriptions;
  }

  /** Throws ProviderError, store_unavailable and overloaded: then nothing is stored for the event. */
  async receive(request: EventRequest): Promise<void> {
    const { provider, store, clock } = this.#on;
    const nowMs = clock.nowMs();
    let event: ProviderEvent;
    try {
      event = await provider.readEvent(request.body, request.headers, nowMs);
    } catch (failure) {
      if (failure instanceof ProviderError && failure.fault === 'event_invalid') await this.#refuse(request, failure);
      throw failure;
    }
    if ((await store.findHandledEvent(event.id)) !== null) return;
    const actor: Actor = { ...paymentActor, address: request.address, requestId: request.requestId };
    await this.#handle(event, { event: { id: event.id, atMs: nowMs, type: event.type }, actor });
  }

  async #handle({ subject }: ProviderEvent, cause: SyncCause): Promise<void> {
    switch (subject.kind) {
      case 'payment':
        await this.#syncPayment(subject.source, subject.payment, cause);
        return;
      case 'reference': {
        const source = await this.#on.provider.findPayment(subject.reference);
        if (source === null) await this.#note(cause);
        else await this.#syncPayment(source, null, cause);
        return;
      }
      case 'subscription':
        await this.#subscriptions?.sync(subject.subscription);
        await this.#note(cause);
        return;
      case 'customer':
        await this.#readMethod(subject.customer);
        await this.#note(cause);
        return;
      case 'none':
        await this.#note(cause);
    }
  }

  async #syncPayment(source: string, named: string | null, cause: SyncCause): Promise<void> {
    const payment = await this.#sync.sync(source, named, cause);
    if (payment?.kind !== 'subscription') return;
    if (payment.subscription !== null) await this.#subscriptions?.sync(payment.subscription);
    if (cause.event !== null) await this.#sync.note({ ...cause.event, payment: payment.id });
  }

  async #note({ event }: SyncCause): Promise<void> {
    if (event !== null) await this.#sync.note({ ...event, payment: null });
  }

  /** Another node or request may store it first; both read it from the provider. */
  async #readMethod(customer: string): Promise<void> {
    const { store, provider, ledger } = this.#on;
    for (let tries = 0; tries < bounds.paymentSyncTriesMax; tries++) {
      const billing = await store.findBillingByCustomer(customer);
      if (billing === null) return;
      const method = await provider.readSavedMethod(customer);
      if (JSON.stringify(method) === JSON.stringify(billing.method)) return;
      const next = { ...billing, method, version: billing.version + 1 };
      const rows: PaymentRow[] = [{ table: 'billing', billing: next }];
      if (await unlessOutpaced(ledger.submit({ operations: [], coCommitted: rows }))) return;
    }
  }

  /** Records a forged, stale or unreadable request: at most one record in a while, with the number since the last. */
  async #refuse({ address, requestId }: EventRequest, failure: ProviderError): Promise<void> {
    const { ledger, auditRows, clock } = this.#on;
    this.#refusals.count++;
    this.refusedCount++;
    const nowMs = clock.nowMs();
    if (nowMs - this.#refusals.recordedAtMs < bounds.paymentRefusalEveryMs) return;
    const record: AuditRecord = {
      atMs: nowMs,
      actor: { ...paymentActor, id: 'anyone', address, requestId },
      action: 'payment_event.refuse',
      object: 'webhook',
      account: null,
      before: null,
      after: { reason: String(failure.cause), refused: this.#refusals.count },
    };
    this.#refusals.count = 0;
    this.#refusals.recordedAtMs = nowMs;
    await ledger.submit({ operations: [], coCommitted: auditRows({ audit: [record], creation: null }) });
  }
}
