// Sends one mail to the SMTP server of the settings, bounded in time and number. The only user of nodemailer, which is
// loaded with the first mail.

import type { Transporter } from 'nodemailer';
import { FairQueue } from '../base/fair-queue.ts';
import { bounds, type MailSettings } from '../config/config.ts';

export interface MailMessage {
  /** Unique and the same for every attempt, so that a repeated mail can be recognized. */
  id: string;
  /** Shown as the sender if the settings have no name. */
  fromName: string;
  /** One address, as `emailField` accepts it. */
  to: string;
  subject: string;
  text: string;
  html: string;
  /** Where a mail program unsubscribes with one request (RFC 8058); null: the mail is about security. */
  unsubscribeUrl: string | null;
}

/** `isRefused`: the server has refused this recipient or mail for good. */
export type MailOutcome = { isSent: true } | { isSent: false; isRefused: boolean; cause: string };

export interface MailSender {
  /** Never rejects. */
  send(message: MailMessage): Promise<MailOutcome>;
  /** Ends connections in use; mails that are being sent fail. */
  close(): void;
}

const ADDRESS = /^[^\s@<>"(),:;[\]\\]+@[A-Za-z0-9.-]+$/;

/** `read` gives the settings at each mail: their password may change. */
export function makeMailSender(read: () => MailSettings): MailSender {
  const queue = new FairQueue<string>(
    {
      running: bounds.mailsAtOnce,
      runningPerOwner: bounds.mailsAtOnce,
      tasks: bounds.mailsWaitingMax,
      tasksPerOwner: bounds.mailsWaitingMax,
    },
    () => new Error('too many mails are waiting'),
  );
  const closing = new AbortController();
  let opened: { settings: MailSettings; transport: Promise<Transporter> } | null = null;
  return {
    async send(message) {
      if (!ADDRESS.test(message.to)) return { isSent: false, isRefused: true, cause: 'the address is not valid' };
      const settings = read();
      try {
        using _turn = await queue.enter('');
        if (opened?.settings !== settings) opened = { settings, transport: openTransport(settings) };
        const { transport } = opened;
        const signal = AbortSignal.any([closing.signal, AbortSignal.timeout(bounds.mailMsMax)]);
        await (await transport).sendMail({ ...headersOf(settings, message), signal });
        return { isSent: true };
      } catch (failure) {
        return { isSent: false, isRefused: isRefusal(failure), cause: causeOf(failure, message.to, settings) };
      }
    },
    close: () => closing.abort(new Error('the service is shutting down')),
  };
}

async function openTransport({ host, port, isTlsFirst, tls, login }: MailSettings): Promise<Transporter> {
  const { createTransport } = await import('nodemailer');
  return createTransport({
    host,
    port,
    secure: isTlsFirst,
    requireTLS: tls === 'required',
    ignoreTLS: tls === 'none',
    // Without `required`, an attacker on the way could remove the offer: a certificate proves nothing there.
    tls: { rejectUnauthorized: tls === 'required' },
    ...(login !== null && { auth: { user: login.user, pass: login.password } }),
    connectionTimeout: bounds.mailConnectMsMax,
    dnsTimeout: bounds.mailConnectMsMax,
    greetingTimeout: bounds.mailConnectMsMax,
    socketTimeout: bounds.mailSilenceMsMax,
    disableFileAccess: true,
    disableUrlAccess: true,
  });
}

function headersOf({ from, publicUrl }: MailSettings, message: MailMessage) {
  const { id, fromName, to, subject, text, html, unsubscribeUrl } = message;
  return {
    from: from.name === '' ? { ...from, name: oneLine(fromName) } : from,
    to: { name: '', address: to },
    subject: oneLine(subject),
    text,
    html,
    messageId: `<${oneLine(id)}@${new URL(publicUrl).hostname}>`,
    headers: {
      'Auto-Submitted': 'auto-generated', // vacation replies are not sent to it
      'X-Auto-Response-Suppress': 'All',
      ...(unsubscribeUrl !== null && {
        'List-Unsubscribe': { prepared: true, value: `<${oneLine(unsubscribeUrl)}>` },
        'List-Unsubscribe-Post': 'List-Unsubscribe=One-Click',
      }),
    },
  };
}

/** A header ends with its line: a name in a subject must not begin another one. */
function oneLine(text: string): string {
  return text.replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\s]+/gu, ' ').trim();
}

/** A 5xx about the recipient or the mail. One about the connection or the login is a mistake of the settings. */
function isRefusal(failure: unknown): boolean {
  const { code, responseCode = 0 } = failure as { code?: string; responseCode?: number };
  return (code === 'EENVELOPE' || code === 'EMESSAGE') && responseCode >= 500;
}

/** For the log: without the recipient's address and the password, which a server may repeat. */
function causeOf(failure: unknown, to: string, { login }: MailSettings): string {
  const text = failure instanceof Error ? failure.message : String(failure);
  const hidden = login === null ? text : text.replaceAll(login.password, '[secret]');
  return oneLine(hidden.replaceAll(to, 'the recipient')).slice(0, bounds.mailFailureCharactersMax);
}
