// The SMTP server and the sender's address, as config.ts reads them from the environment.

import { parseWholeNumber } from '../base/checked-number.ts';

/** How a connection is encrypted: always and verified; if the server offers it; never. */
export type MailTls = 'required' | 'offered' | 'none';

export interface MailSettings {
  host: string;
  port: number;
  /** TLS from the first byte (smtps), not after STARTTLS. */
  isTlsFirst: boolean;
  tls: MailTls;
  login: { user: string; password: string } | null;
  from: { name: string; address: string };
  /** The origin of the links in mails. */
  publicUrl: string;
}

type Read = (name: string) => string | null;

export const SMTP_URL = 'TURNPIKE_SMTP_URL';
const FROM_NAME = 'TURNPIKE_MAIL_FROM';
const PORTS = { 'smtp:': 587, 'smtps:': 465 } as const;
const ADDRESS = /^[^\s@<>"(),:;[\]\\]{1,64}@[A-Za-z0-9.-]{1,189}$/;
const NAME_CHARACTERS_MAX = 100;

/** Null unless a server is set. The faults do not repeat the URL, because it may contain a password. */
export function readMail(read: Read, publicUrl: string | null, faults: string[]): MailSettings | null {
  const [url, from] = [read(SMTP_URL), read(FROM_NAME)];
  if (url === null && from === null) return null;
  if (url === null) faults.push(`${SMTP_URL}: must be set together with ${FROM_NAME}`);
  if (from === null) faults.push(`${FROM_NAME}: must be set together with ${SMTP_URL}`);
  if (publicUrl === null && read('TURNPIKE_PUBLIC_URL') === null)
    faults.push(`TURNPIKE_PUBLIC_URL: must be set with ${SMTP_URL}: mails have links to it`);
  const server = url === null ? null : readMailServer(url, faults);
  const sender = from === null ? null : readSender(from, faults);
  if (server === null || sender === null || publicUrl === null) return null;
  return Object.freeze({ ...server, from: sender, publicUrl });
}

type Server = Pick<MailSettings, 'host' | 'port' | 'isTlsFirst' | 'tls' | 'login'>;

/** The server of an SMTP URL; null with a fault that does not repeat it. */
export function readMailServer(text: string, faults: string[]): Server | null {
  const url = URL.parse(text);
  const protocol = url?.protocol;
  if (url === null || (protocol !== 'smtp:' && protocol !== 'smtps:') || url.hostname === '' || !isBare(url)) {
    faults.push(
      `${SMTP_URL}: must be smtp://USER:PASSWORD@HOST:PORT or smtps://…, optionally with ?tls=required, ?tls=offered or ?tls=none; user and password are URL-encoded`,
    );
    return null;
  }
  const login = readLogin(url, faults);
  const host = url.hostname.replace(/^\[(.*)\]$/, '$1');
  const isTlsFirst = protocol === 'smtps:';
  // A password is not sent over a connection from which someone on the way can remove the encryption.
  const fallback = isTlsFirst || (login !== null && !isLoopback(host)) ? 'required' : 'offered';
  const tls = url.searchParams.get('tls') ?? fallback;
  const others = [...url.searchParams.keys()].filter((name) => name !== 'tls');
  if ((tls !== 'required' && tls !== 'offered' && tls !== 'none') || others.length > 0) {
    faults.push(`${SMTP_URL}: the only option is tls, which must be required, offered or none`);
    return null;
  }
  if (isTlsFirst && tls !== 'required') {
    faults.push(`${SMTP_URL}: smtps:// always uses TLS; use smtp:// with ?tls=${tls}`);
    return null;
  }
  return { host, port: parseWholeNumber(url.port) ?? PORTS[protocol], isTlsFirst, tls, login };
}

function isBare({ pathname, hash }: URL): boolean {
  return (pathname === '' || pathname === '/') && hash === '';
}

function readLogin({ username, password }: URL, faults: string[]): MailSettings['login'] {
  if (username === '' && password === '') return null;
  if (username === '' || password === '') faults.push(`${SMTP_URL}: must have a user and a password, or neither`);
  try {
    return { user: decodeURIComponent(username), password: decodeURIComponent(password) };
  } catch {
    faults.push(`${SMTP_URL}: user and password must be URL-encoded, "%" as %25`);
    return null;
  }
}

function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || /^127(?:\.\d{1,3}){3}$/.test(host);
}

/** "turnpike@example.com" or "Turnpike <turnpike@example.com>". */
function readSender(text: string, faults: string[]): MailSettings['from'] | null {
  const [, name, bracketed] = /^\s*"?([^"<>]*?)"?\s*<([^<>]*)>\s*$/.exec(text) ?? [];
  const address = (bracketed ?? text).trim();
  const shown = name?.trim() ?? '';
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these would end the header
  if (ADDRESS.test(address) && shown.length <= NAME_CHARACTERS_MAX && !/[\x00-\x1f\x7f]/.test(text))
    return { name: shown, address };
  faults.push(`${FROM_NAME}: must be an address such as turnpike@example.com or "Turnpike <turnpike@example.com>"`);
  return null;
}
