// An SMTP server on loopback for tests: it keeps what it receives, and misbehaves as a test says. With `tls` it speaks
// TLS from the first byte.

import { createServer, type Socket } from 'node:net';
import { createServer as createTlsServer } from 'node:tls';

export interface ReceivedMail {
  from: string;
  to: string[];
  /** As received, with headers, lines ending with CRLF. */
  raw: string;
}

type Command = 'CONNECT' | 'EHLO' | 'AUTH' | 'MAIL' | 'RCPT' | 'DATA' | 'BODY';

/** The response to a command instead of the usual one; 'silent': none; 'hang up': the connection ends. */
export type Script = (command: Command, argument: string, count: number) => string | null;

export interface ScriptedSmtp extends AsyncDisposable {
  port: number;
  url: string;
  mails: ReceivedMail[];
  /** The commands received, such as "AUTH PLAIN …". */
  commands: string[];
  script: Script;
  /** Open connections. */
  connections(): number;
  /** Resolves when so many mails have arrived; rejects after 10 s. */
  untilMails(count: number): Promise<ReceivedMail[]>;
}

interface Options {
  tls?: { key: string; cert: string };
  /** The lines of the response to EHLO. */
  extensions?: readonly string[];
}

const WAIT_MS_MAX = 10_000;

export async function startScriptedSmtp({ tls, extensions = ['8BITMIME'] }: Options = {}): Promise<ScriptedSmtp> {
  const open = new Set<Socket>();
  const serve = (socket: Socket) => {
    open.add(socket);
    socket.on('close', () => open.delete(socket));
    socket.on('error', () => {});
    answerSession(server, socket, extensions);
  };
  const listener = tls === undefined ? createServer(serve) : createTlsServer(tls, serve as never);
  await new Promise<void>((resolve) => listener.listen(0, '127.0.0.1', resolve));
  const { port } = listener.address() as { port: number };
  const server: ScriptedSmtp = {
    port,
    url: `${tls === undefined ? 'smtp' : 'smtps'}://127.0.0.1:${port}`,
    mails: [],
    commands: [],
    script: () => null,
    connections: () => open.size,
    async untilMails(count) {
      for (const endMs = Date.now() + WAIT_MS_MAX; server.mails.length < count; await Bun.sleep(10))
        if (Date.now() > endMs) throw new Error(`${server.mails.length} of ${count} mails arrived`);
      return server.mails;
    },
    async [Symbol.asyncDispose]() {
      for (const socket of open) socket.destroy();
      await new Promise<void>((resolve) => listener.close(() => resolve()));
    },
  };
  return server;
}

function answerSession(server: ScriptedSmtp, socket: Socket, extensions: readonly string[]): void {
  const mail: ReceivedMail = { from: '', to: [], raw: '' };
  let buffer = '';
  let isBody = false;
  const counts = new Map<Command, number>();
  const answer = (command: Command, argument: string, usual: string) => {
    const count = (counts.get(command) ?? 0) + 1;
    counts.set(command, count);
    const given = server.script(command, argument, count) ?? usual;
    if (given === 'hang up') socket.destroy();
    else if (given !== 'silent') socket.write(`${given}\r\n`);
    return given;
  };
  const takeLine = (line: string) => {
    server.commands.push(line);
    const [word = '', ...rest] = line.split(/[ :]/);
    const argument = rest.join(' ');
    switch (word.toUpperCase()) {
      case 'EHLO':
        answer(
          'EHLO',
          argument,
          ['localhost', ...extensions]
            .map((text, at) => `250${at === extensions.length ? ' ' : '-'}${text}`)
            .join('\r\n'),
        );
        break;
      case 'AUTH':
        answer('AUTH', argument, '235 authenticated');
        break;
      case 'MAIL':
        mail.from = /<([^>]*)>/.exec(line)?.[1] ?? '';
        answer('MAIL', mail.from, '250 ok');
        break;
      case 'RCPT': {
        const to = /<([^>]*)>/.exec(line)?.[1] ?? '';
        if (answer('RCPT', to, '250 ok').startsWith('2')) mail.to.push(to);
        break;
      }
      case 'DATA':
        isBody = answer('DATA', '', '354 go on').startsWith('354');
        break;
      case 'QUIT':
        socket.end('221 bye\r\n');
        break;
      default:
        socket.write('502 unknown command\r\n');
    }
  };
  answer('CONNECT', '', '220 scripted ESMTP');
  socket.on('data', (bytes) => {
    buffer += bytes.toString('latin1');
    for (;;) {
      const end = buffer.indexOf(isBody ? '\r\n.\r\n' : '\r\n');
      if (end < 0) return;
      const text = buffer.slice(0, end);
      buffer = buffer.slice(end + (isBody ? 5 : 2));
      if (!isBody) takeLine(text);
      else {
        isBody = false;
        const given = server.script('BODY', text, 1);
        if (given === null || given.startsWith('2'))
          server.mails.push({ ...mail, to: [...mail.to], raw: text.replaceAll('\r\n..', '\r\n.') });
        answer('BODY', text, '250 queued');
      }
    }
  });
}

export interface ReadMail {
  headers: Map<string, string>;
  text: string;
  html: string;
}

/** Reads what our own mails consist of: headers with encoded words, and two parts. */
export function readMail(raw: string): ReadMail {
  const { headers, body } = split(raw);
  const boundary = /boundary="([^"]+)"/.exec(headers.get('content-type') ?? '')?.[1] ?? '';
  const parts = body.split(`--${boundary}`).map((part) => split(part.replace(/^\r\n/, '')));
  const find = (type: string) => {
    const part = parts.find((one) => one.headers.get('content-type')?.startsWith(type));
    return part === undefined ? '' : decodePart(part);
  };
  return { headers, text: find('text/plain'), html: find('text/html') };
}

function split(raw: string): { headers: Map<string, string>; body: string } {
  const end = raw.indexOf('\r\n\r\n');
  const head = end < 0 ? raw : raw.slice(0, end);
  const lines = head.replaceAll(/\r\n[ \t]+/g, ' ').split('\r\n');
  const headers = new Map(
    lines.map((line) => {
      const at = line.indexOf(':');
      return [line.slice(0, at).toLowerCase(), decodeWords(line.slice(at + 1).trim())];
    }),
  );
  return { headers, body: end < 0 ? '' : raw.slice(end + 4) };
}

/** Encoded words of RFC 2047; a space between two of them does not count. */
function decodeWords(text: string): string {
  return text
    .replaceAll(/\?=\s+=\?/g, '?==?')
    .replaceAll(/=\?utf-8\?([QB])\?([^?]*)\?=/gi, (_, kind: string, words: string) =>
      kind.toUpperCase() === 'B'
        ? Buffer.from(words, 'base64').toString('latin1')
        : words
            .replaceAll('_', ' ')
            .replaceAll(/=([0-9A-F]{2})/gi, (_all, hex) => String.fromCharCode(Number.parseInt(hex, 16))),
    )
    .replaceAll(/[\x80-\xff]+/g, (bytes) => Buffer.from(bytes, 'latin1').toString('utf8'));
}

function decodePart({ headers, body }: ReturnType<typeof split>): string {
  const encoding = headers.get('content-transfer-encoding') ?? '7bit';
  if (encoding === 'base64') return Buffer.from(body, 'base64').toString('utf8');
  if (encoding !== 'quoted-printable') return Buffer.from(body, 'latin1').toString('utf8');
  const bytes = body
    .replaceAll(/=\r\n/g, '')
    .replaceAll(/=([0-9A-F]{2})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
  return Buffer.from(bytes, 'latin1').toString('utf8');
}
