// The door of delivery: sends events to the destinations of accounts and operators, and mails to people.

export { type ChannelParts, type Channels, isPrivateAllowed, makeChannels, type Send } from './channels.ts';
export {
  type Delivery,
  type DeliveryAttempt,
  type DeliveryPage,
  type DeliveryStatus,
  type DeliveryStore,
  type Destination,
  type DestinationKind,
  type DestinationStore,
  type DueDelivery,
  destinationContext,
  type ListedDelivery,
  laneOf,
  type Outbox,
  type OutboxChange,
  type SealedSecret,
  type SpreadTo,
  wantsEvent,
} from './destination.ts';
export { afterAttempt, Dispatcher, type DispatcherParts } from './dispatcher.ts';
export {
  type MailContent,
  type MailKind,
  type Notice,
  plainName,
  writeLetter,
  writeNotice,
} from './letters.ts';
export {
  type MailAttempt,
  MailQueue,
  type MailRequest,
  type MailStore,
  mailContext,
  type QueuedMail,
} from './mail-queue.ts';
export { type Mailer, makeMailer, type NewMail } from './mailer.ts';
export { type Letter, type LetterFrame, type MailIdentity, renderHtml, renderText } from './render-letter.ts';
export { nextTryMs } from './retries.ts';
export { excerptOf, findUrlFault, type HttpMessage, type HttpOptions, postTo, type SendResult } from './send-http.ts';
export { type MailMessage, type MailOutcome, type MailSender, makeMailSender } from './send-mail.ts';
export { makeNoticeSender, openUnsubscribe, type SendNotice, sealUnsubscribe } from './send-notice.ts';
export { eventJson, makeWebhookSecret, webhookMessage } from './webhook.ts';
