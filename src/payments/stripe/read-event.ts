// Webhook requests: verified by the official package, then reduced to what must be read again.

import { z } from 'zod';
import { bounds } from '../../config/config.ts';
import { type EventSubject, ProviderError, type ProviderEvent } from '../provider.ts';
import { metadataNames } from './checkout.ts';
import { seconds } from './read-objects.ts';

/** Types to subscribe an endpoint to. Others are accepted, and change nothing. */
export const stripeEventTypes = [
  'charge.dispute.closed',
  'charge.dispute.created',
  'charge.dispute.funds_reinstated',
  'charge.dispute.funds_withdrawn',
  'charge.dispute.updated',
  'charge.failed',
  'charge.refunded',
  'charge.updated',
  'checkout.session.async_payment_failed',
  'checkout.session.async_payment_succeeded',
  'checkout.session.completed',
  'checkout.session.expired',
  'credit_note.created',
  'credit_note.updated',
  'credit_note.voided',
  'customer.deleted',
  'customer.subscription.created',
  'customer.subscription.deleted',
  'customer.subscription.paused',
  'customer.subscription.pending_update_applied',
  'customer.subscription.pending_update_expired',
  'customer.subscription.resumed',
  'customer.subscription.updated',
  'customer.updated',
  'invoice.finalization_failed',
  'invoice.marked_uncollectible',
  'invoice.paid',
  'invoice.payment_action_required',
  'invoice.payment_failed',
  'invoice.voided',
  'payment_intent.canceled',
  'payment_intent.payment_failed',
  'payment_intent.succeeded',
  'payment_method.attached',
  'payment_method.automatically_updated',
  'payment_method.detached',
  'payment_method.updated',
  'refund.created',
  'refund.failed',
  'refund.updated',
  'subscription_schedule.canceled',
  'subscription_schedule.released',
  'subscription_schedule.updated',
] as const;

const idOrNull = z
  .union([z.string(), z.object({ id: z.string() }).transform(({ id }) => id)])
  .nullish()
  .catch(null)
  .transform((value) => value ?? null);

const object = z.object({
  id: z.string().max(255).catch(''),
  mode: z.string().optional().catch(undefined),
  customer: idOrNull,
  subscription: idOrNull,
  payment_intent: idOrNull,
  charge: idOrNull,
  invoice: idOrNull,
  metadata: z
    .record(z.string(), z.string())
    .nullish()
    .catch(null)
    .transform((value) => value ?? {}),
});
type EventObject = z.infer<typeof object>;

const event = z.object({
  id: z.string().regex(/^evt_\w{1,250}$/),
  object: z.literal('event'),
  type: z.string().min(1).max(100),
  created: seconds,
  livemode: z.boolean(),
  /** A connected account's, which is none of ours. */
  account: z.string().nullish(),
  data: z.object({ object }),
});

/** `verify` checks the signature and the age, and parses the body. */
export async function readEvent(
  body: Uint8Array,
  headers: Headers,
  isLive: boolean,
  verify: (signature: string) => Promise<unknown>,
): Promise<ProviderEvent> {
  const signature = headers.get('stripe-signature');
  if (signature === null || signature === '') throw invalid('the header stripe-signature is missing');
  if (signature.length > bounds.stripeSignatureCharactersMax) throw invalid('the header stripe-signature is too long');
  if (body.length > bounds.stripeEventBytesMax) throw invalid(`the body has ${body.length} bytes`);
  const verified = await verify(signature).catch((error: unknown) => {
    const sentence = error instanceof Error ? (error.message.split('\n')[0] ?? '') : String(error);
    throw invalid(sentence.slice(0, bounds.stripeCauseCharactersMax));
  });
  const parsed = event.safeParse(verified);
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    throw invalid(`a signed body that is no event: ${issue?.path.join('.')}: ${issue?.message}`);
  }
  const { id, type, livemode, account, data } = parsed.data;
  if (livemode !== isLive)
    throw invalid(`an event of ${livemode ? 'live' : 'test'} mode, with a key of ${isLive ? 'live' : 'test'} mode`);
  const isConnected = account != null;
  return { id, type, subject: isConnected ? NONE : subjectOf(type, data.object) };
}

const NONE: EventSubject = { kind: 'none' };

/** Types beyond the list above are read as their relatives are. */
function subjectOf(type: string, about: EventObject): EventSubject {
  const { id, mode, customer, subscription, payment_intent: intent, charge, invoice, metadata } = about;
  const payment = metadata[metadataNames.payment] ?? null;
  if (type.startsWith('checkout.session.')) {
    if (mode === 'subscription') return subscription === null ? NONE : { kind: 'subscription', subscription };
    return payment === null || id === '' ? NONE : { kind: 'payment', source: id, payment };
  }
  // An upcoming invoice has no id.
  if (type.startsWith('invoice.')) {
    if (id === '') return NONE;
    const isReceipt = metadata[metadataNames.checkout] !== undefined;
    return isReceipt ? { kind: 'reference', reference: id } : { kind: 'payment', source: id, payment };
  }
  if (type.startsWith('credit_note.')) return referenceTo(invoice);
  if (type.startsWith('payment_intent.')) return type.endsWith('.created') ? NONE : referenceTo(id);
  if (type.startsWith('charge.dispute.') || /^(?:charge\.)?refund\./.test(type)) return referenceTo(intent ?? charge);
  if (type.startsWith('charge.')) return referenceTo(intent ?? id);
  if (type.startsWith('customer.subscription.')) return id === '' ? NONE : { kind: 'subscription', subscription: id };
  if (type.startsWith('subscription_schedule.'))
    return subscription === null ? NONE : { kind: 'subscription', subscription };
  if (type.startsWith('payment_method.')) return customer === null ? NONE : { kind: 'customer', customer };
  if (/^customer\.(?:updated|deleted)$/.test(type) && id !== '') return { kind: 'customer', customer: id };
  return NONE;
}

function referenceTo(reference: string | null): EventSubject {
  return reference === null || reference === '' ? NONE : { kind: 'reference', reference };
}

function invalid(cause: string): ProviderError {
  return new ProviderError('event_invalid', 'This is no valid event of the payment provider.', cause);
}
