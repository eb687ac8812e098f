// The door of delivery: sends events to the destinations of accounts and operators, and mails to people.

export { callAddress, type HttpOptions } from '../base/call-address.ts';
export { isPrivateAllowed, makeChannels, type Send } from './channels.ts';
export {
  type Delivery,
  type DeliveryStore,
  type Destination,
  type DestinationStore,
  type DueDelivery,
  destinationContext,
  type ListedDelivery,
  type Outbox,
  type OutboxChange,
  type SealedSecret,
} from './destination.ts';
export { Dispatcher } from './dispatcher.ts';
export { MailQueue, type MailRequest, type MailStore, mailContext, type QueuedMail } from './mail-queue.ts';
export { type Mailer, makeMailer } from './mailer.ts';
export { describeByName } from './name-ids.ts';
export { describeFault, findUrlFault, readStart } from './send-http.ts';
export { makeMailSender } from './send-mail.ts';
export { makeNoticeSender, openUnsubscribe } from './send-notice.ts';
export { makeWebhookSecret } from './webhook.ts';
