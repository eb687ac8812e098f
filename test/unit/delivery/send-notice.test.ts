// Events as mails: who can unsubscribe from which, and that a token works for its own destination only.

import { afterEach, beforeEach, expect, test } from 'bun:test';
import { readConfig } from '../../../src/config/config.ts';
import { makeMailSender, makeNoticeSender, openUnsubscribe } from '../../../src/delivery/delivery.ts';
import { type SendNotice, sealUnsubscribe } from '../../../src/delivery/send-notice.ts';
import type { StoredEvent } from '../../../src/events/events.ts';
import { openVault } from '../../../src/secrets/secrets.ts';
import { readMail, type ScriptedSmtp, startScriptedSmtp } from '../../support/scripted-smtp.ts';

const vault = openVault(Buffer.alloc(32, 7));
const publicUrl = 'https://console.example.com';
const destination = { id: 4_294_967_300, address: 'ada@example.com' };
const low: StoredEvent = {
  seq: 7,
  atMs: 0,
  account: 1,
  type: 'balance.low',
  data: { threshold: '5.00', available: '4.87' },
};
const identity = () => ({ name: 'Acme AI', support: 'help@example.com' });
let server: ScriptedSmtp;
let send: SendNotice;
beforeEach(async () => {
  server = await startScriptedSmtp();
  const { mail } = readConfig(
    {},
    { TURNPIKE_SMTP_URL: server.url, TURNPIKE_MAIL_FROM: 'a@example.com', TURNPIKE_PUBLIC_URL: publicUrl },
  );
  if (mail === null) throw new Error('the settings of mail are wrong');
  send = makeNoticeSender({ sender: makeMailSender(() => mail), vault, publicUrl, identity });
});
afterEach(() => server[Symbol.asyncDispose]());

test('a notice has the event in words, the same id in each attempt, and a token to unsubscribe', async () => {
  expect([await send(destination, low, 'Acme'), await send(destination, low, 'Acme')]).toEqual([
    { isSent: true },
    { isSent: true },
  ]);
  const [first, second] = server.mails.map(({ raw }) => readMail(raw));
  expect(first?.headers.get('message-id')).toBe(second?.headers.get('message-id') ?? '');
  expect(first?.text).toContain('The balance fell below $5.00: $4.87 is available.');
  expect(first?.headers.get('subject')).toContain('Acme');
  expect(first?.headers.get('from')).toBe('Acme AI <a@example.com>');
  expect(first?.text).toContain('Sent by Acme AI at');
  expect(first?.text).toContain('Support: help@example.com');
  expect(first?.html).toContain('<a href="mailto:help@example.com"');
  const [, token = ''] = /unsubscribe\?token=([\w.-]+)>/.exec(first?.headers.get('list-unsubscribe') ?? '') ?? [];
  expect(openUnsubscribe(vault, token)).toEqual(destination);
  expect(first?.headers.get('list-unsubscribe-post')).toBe('List-Unsubscribe=One-Click');
  for (const form of [first?.text, first?.html]) expect(form).toContain(`${publicUrl}/console/unsubscribe#`);
});

test('a notice about security cannot be unsubscribed from', async () => {
  const data = { key: 'key_1', name: 'x', prefix: 'sk-tp-Ab3d', actor: 'local' };
  await send(destination, { ...low, type: 'key.created', data }, 'Acme');
  const { headers, text } = readMail(server.mails[0]?.raw ?? '');
  expect([headers.has('list-unsubscribe'), headers.has('list-unsubscribe-post')]).toEqual([false, false]);
  expect(text).not.toContain('nsubscribe');
});

test('a name of an account adds no header', async () => {
  await send(destination, low, 'Acme\r\nBcc: eve@example.com');
  expect(readMail(server.mails[0]?.raw ?? '').headers.has('bcc')).toBe(false);
  expect(server.mails[0]?.to).toEqual(['ada@example.com']);
});

test('a token that is invented, altered or sealed for another purpose unsubscribes nothing', () => {
  const token = sealUnsubscribe(vault, destination);
  const altered = `${token.slice(0, -2)}${token.endsWith('AA') ? 'BB' : 'AA'}`;
  const other = openVault(Buffer.alloc(32, 8));
  const tokens = [
    '',
    'v1.',
    'x',
    altered,
    vault.seal('7', 'mail:7'),
    sealUnsubscribe(other, { ...destination, id: 7 }),
  ];
  for (const wrong of tokens) expect([wrong, openUnsubscribe(vault, wrong)]).toEqual([wrong, null]);
});
