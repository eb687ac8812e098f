// Messages for incoming webhooks of Slack, and of chats that accept the same format.

import { eventTypes, type Severity, type StoredEvent } from '../events/events.ts';
import type { HttpMessage } from './send-http.ts';

const SIGNS: Readonly<Record<Severity, string>> = {
  info: ':information_source:',
  warning: ':warning:',
  error: ':rotating_light:',
};

/** `account` is the name of the event's account; null: the installation. */
export function slackMessage(
  url: string,
  { type }: Pick<StoredEvent, 'type'>,
  sentence: string,
  account: string | null,
): HttpMessage {
  const { title, severity } = eventTypes[type];
  const about = account === null ? '' : ` (${escapeText(account)})`;
  const text = `${SIGNS[severity]} *${title}*${about}\n${escapeText(sentence)}`;
  return { url, headers: { 'content-type': 'application/json' }, body: JSON.stringify({ text }) };
}

/** Names that others chose must not mention everyone or hide a link. */
function escapeText(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('@', '@\u200b');
}
