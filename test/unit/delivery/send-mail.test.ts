// One mail over a real connection: what arrives, and what the sender makes of servers that refuse, are slow or silent.

import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import type { MailSettings } from '../../../src/config/config.ts';
import { bounds, readConfig } from '../../../src/config/config.ts';
import { makeMailSender } from '../../../src/delivery/delivery.ts';
import type { MailMessage, MailSender } from '../../../src/delivery/send-mail.ts';
import { readMail, type ScriptedSmtp, startScriptedSmtp } from '../../support/scripted-smtp.ts';
import { selfSigned } from '../../support/self-signed.ts';

let server: ScriptedSmtp;
let sender: MailSender;
beforeEach(async () => {
  server = await startScriptedSmtp();
  sender = senderAt(server.url);
});
afterEach(async () => {
  sender.close();
  await server[Symbol.asyncDispose]();
});

function senderAt(url: string, from?: string): MailSender {
  const settings = settingsOf(url, from);
  return makeMailSender(() => settings);
}

function settingsOf(url: string, from = 'Turnpike <turnpike@example.com>'): MailSettings {
  const { mail } = readConfig(
    {},
    { TURNPIKE_SMTP_URL: url, TURNPIKE_MAIL_FROM: from, TURNPIKE_PUBLIC_URL: 'https://console.example.com' },
  );
  return mail as MailSettings;
}

const message: MailMessage = {
  id: 'mail_1',
  fromName: 'Acme AI',
  to: 'ada@example.com',
  subject: 'Your account',
  text: 'Hello\n',
  html: '<p>Hello</p>',
  unsubscribeUrl: null,
};

describe('a mail', () => {
  test('arrives once, as plain text and HTML, from the configured sender', async () => {
    expect(await sender.send(message)).toEqual({ isSent: true });
    expect(server.mails).toHaveLength(1);
    const [{ from, to, raw } = { from: '', to: [], raw: '' }] = server.mails;
    expect([from, to]).toEqual(['turnpike@example.com', ['ada@example.com']]);
    const { headers, text, html } = readMail(raw);
    expect(headers.get('from')).toBe('Turnpike <turnpike@example.com>');
    expect(headers.get('to')).toBe('ada@example.com');
    expect(headers.get('message-id')).toBe('<mail_1@console.example.com>');
    expect(headers.get('auto-submitted')).toBe('auto-generated');
    expect(headers.get('list-unsubscribe')).toBeUndefined();
    expect(text.trim()).toBe('Hello');
    expect(html.trim()).toBe('<p>Hello</p>');
  });

  test('has the name of the installation as its sender if the settings name none', async () => {
    const nameless = senderAt(server.url, 'turnpike@example.com');
    await nameless.send({ ...message, fromName: 'Acme\r\nBcc: eve@example.com' });
    nameless.close();
    expect(readMail(server.mails[0]?.raw ?? '').headers.get('from')).toBe(
      '"Acme Bcc: eve@example.com" <turnpike@example.com>',
    );
    expect(server.mails[0]?.to).toEqual(['ada@example.com']);
  });

  test('has a subject of any script, encoded, and no line longer than servers accept', async () => {
    const subject = `Ihr Guthaben für „日本語アカウント“ ist aufgebraucht ${'é'.repeat(90)}`;
    await sender.send({
      ...message,
      subject,
      text: `${'ü'.repeat(3_000)}\n.\n..two dots`,
      html: `<p>${'ß'.repeat(3_000)}</p>`,
    });
    const raw = server.mails[0]?.raw ?? '';
    expect(/^[\r\n\x20-\x7e\t]*$/.test(raw)).toBe(true);
    expect(Math.max(...raw.split('\r\n').map(({ length }) => length))).toBeLessThan(1_000);
    const read = readMail(raw);
    expect(read.headers.get('subject')).toBe(subject);
    expect(read.text.replaceAll('\r\n', '\n').trim()).toBe(`${'ü'.repeat(3_000)}\n.\n..two dots`);
  });

  test('can be unsubscribed from with one request if it has such a link', async () => {
    const unsubscribeUrl = `https://console.example.com/unsubscribe?token=${'a'.repeat(200)}`;
    await sender.send({ ...message, unsubscribeUrl });
    const { headers } = readMail(server.mails[0]?.raw ?? '');
    expect(headers.get('list-unsubscribe')).toBe(`<${unsubscribeUrl}>`);
    expect(headers.get('list-unsubscribe-post')).toBe('List-Unsubscribe=One-Click');
  });

  for (const [name, evil] of [
    ['a subject', { subject: 'Hi\r\nBcc: eve@example.com\r\n\r\nbody' }],
    ['a subject with other line ends', { subject: 'Hi\u2028Bcc: eve@example.com\u0085X: y\nZ: z\rW: w' }],
    ['an id', { id: 'mail_1>\r\nBcc: eve@example.com' }],
    ['a link', { unsubscribeUrl: 'https://x/\r\nBcc: eve@example.com' }],
  ] as const)
    test(`has no header that ${name} adds`, async () => {
      await sender.send({ ...message, ...evil });
      const { headers } = readMail(server.mails[0]?.raw ?? '');
      for (const added of ['bcc', 'x', 'z', 'w']) expect(headers.has(added)).toBe(false);
      expect(server.mails[0]?.to).toEqual(['ada@example.com']);
    });

  for (const to of [
    'ada@example.com\r\nBcc: eve@example.com',
    'ada@example.com, eve@example.com',
    'Ada <ada@example.com>',
    'ada@example.com>\r\nRCPT TO:<eve@example.com',
    '',
  ])
    test(`is not sent to ${JSON.stringify(to)}`, async () => {
      expect(await sender.send({ ...message, to })).toMatchObject({ isSent: false, isRefused: true });
      expect(server.commands).toEqual([]);
    });
});

describe('a server', () => {
  test('that refuses a recipient for good is distinguished from one that does so for now', async () => {
    server.script = (command) => (command === 'RCPT' ? '550 5.1.1 <ada@example.com> is unknown here' : null);
    expect(await sender.send(message)).toEqual({
      isSent: false,
      isRefused: true,
      cause: expect.stringContaining('550 5.1.1 <the recipient> is unknown'),
    });
    server.script = (command) => (command === 'RCPT' ? '450 4.2.1 greylisted' : null);
    expect(await sender.send(message)).toMatchObject({ isSent: false, isRefused: false });
    server.script = (command) => (command === 'BODY' ? '554 5.7.1 spam' : null);
    expect(await sender.send(message)).toMatchObject({ isSent: false, isRefused: true });
    server.script = (command) => (command === 'CONNECT' ? '554 no service for you' : null);
    expect(await sender.send(message)).toMatchObject({ isSent: false, isRefused: false });
  });

  test('that hangs up at any step leaves the mail unsent', async () => {
    for (const step of ['CONNECT', 'EHLO', 'MAIL', 'RCPT', 'DATA', 'BODY'] as const) {
      server.script = (command) => (command === step ? 'hang up' : null);
      expect([step, await sender.send(message)]).toMatchObject([step, { isSent: false, isRefused: false }]);
    }
    server.script = () => null;
    expect(await sender.send(message)).toEqual({ isSent: true });
  });

  test('that cannot be reached is named in the cause', async () => {
    const { url } = server;
    await server[Symbol.asyncDispose]();
    const outcome = await senderAt(url).send(message);
    expect(outcome).toMatchObject({
      isSent: false,
      isRefused: false,
      cause: expect.stringMatching(/refused|connect/i),
    });
    server = await startScriptedSmtp();
  });

  test('that is silent holds few connections, and none after the service closes', async () => {
    server.script = (command) => (command === 'MAIL' ? 'silent' : null);
    const outcomes = Array.from({ length: 3 * bounds.mailsAtOnce }, () => sender.send(message));
    while (server.commands.filter((line) => line.startsWith('MAIL')).length < bounds.mailsAtOnce) await Bun.sleep(5);
    await Bun.sleep(50);
    expect(server.connections()).toBe(bounds.mailsAtOnce);
    sender.close();
    for (const outcome of await Promise.all(outcomes))
      expect(outcome).toMatchObject({ isSent: false, isRefused: false });
    while (server.connections() > 0) await Bun.sleep(5);
  });
});

test('a mail uses the server and password that the settings have when it is sent', async () => {
  await using other = await startScriptedSmtp({ extensions: ['AUTH PLAIN'] });
  const changed = settingsOf(`smtp://user:new-word@127.0.0.1:${other.port}`);
  let current = settingsOf(server.url);
  const changing = makeMailSender(() => current);
  expect(await changing.send(message)).toEqual({ isSent: true });
  current = changed;
  expect(await changing.send(message)).toEqual({ isSent: true });
  expect([server.mails.length, other.mails.length]).toEqual([1, 1]);
  expect(other.commands.join('\n')).toContain(Buffer.from('\0user\0new-word').toString('base64'));
});

describe('encryption', () => {
  test('is verified with smtps', async () => {
    await using encrypted = await startScriptedSmtp({ tls: selfSigned });
    const untrusted = senderAt(encrypted.url);
    expect(await untrusted.send(message)).toMatchObject({ isSent: false, isRefused: false });
    expect(encrypted.mails).toEqual([]);
  });

  test('is required before a password is sent to another machine: a server that offers none gets nothing', async () => {
    await using plain = await startScriptedSmtp({ extensions: ['AUTH PLAIN LOGIN'] });
    const required = senderAt(`smtp://user:secret-word@127.0.0.1:${plain.port}?tls=required`);
    expect(await required.send(message)).toMatchObject({ isSent: false, isRefused: false });
    expect(plain.commands.filter((line) => /^(?:AUTH|MAIL)/.test(line))).toEqual([]);
    expect(settingsOf('smtp://user:word@mail.example.com').tls).toBe('required');
    expect(settingsOf('smtp://mail.example.com').tls).toBe('offered');
  });

  test('a wrong password is reported without the password', async () => {
    await using plain = await startScriptedSmtp({ extensions: ['AUTH PLAIN'] });
    plain.script = (command, argument) =>
      command === 'AUTH'
        ? `535 wrong: ${Buffer.from(argument.split(' ').at(-1) ?? '', 'base64')
            .toString()
            .split('\0')
            .at(-1)}`
        : null;
    const outcome = await senderAt(`smtp://user:secret-word@127.0.0.1:${plain.port}`).send(message);
    expect(outcome).toMatchObject({ isSent: false, isRefused: false, cause: expect.stringContaining('[secret]') });
    expect(JSON.stringify(outcome)).not.toContain('secret-word');
  });
});
