// Mails as people read them: escaped, without anything loaded from elsewhere, and with no words of strangers.

import { describe, expect, test } from 'bun:test';
import { inspectConfig } from '../../../src/config/config.ts';
import { type MailContent, plainName, writeLetter, writeNotice } from '../../../src/delivery/letters.ts';
import { type Letter, renderHtml, renderText } from '../../../src/delivery/render-letter.ts';
import { allLetters, PUBLIC_URL, URL_SHOWN } from './all-letters.ts';

const sender = { name: 'Acme AI', support: 'help@example.com' };
const frame = { publicUrl: PUBLIC_URL, sender, unsubscribePage: `${PUBLIC_URL}/console/unsubscribe#v1.sealed` };

describe('every letter', () => {
  for (const [name, letter] of Object.entries(allLetters))
    test(`${name} has a subject in one line, its link in text and HTML, and loads nothing`, () => {
      expect(letter.subject.length).toBeWithin(5, 80);
      expect(letter.subject).not.toMatch(/[\r\n]/);
      const [text, html] = [renderText(letter, frame), renderHtml(letter, frame)];
      if (letter.action !== undefined) for (const form of [text, html]) expect(form).toContain(letter.action.url);
      expect(html).not.toMatch(/<(?:img|script|link|iframe|object|embed|form|svg)\b|url\(|@import|\bsrc=/i);
      expect(html.match(/https?:\/\/[^"<\s]+/g)?.every((url) => url.startsWith(PUBLIC_URL))).toBe(true);
      for (const paragraph of letter.paragraphs) expect(text).toContain(paragraph);
      expect(text).not.toContain('undefined');
      expect(html).not.toContain('undefined');
    });
});

test('text of other people is escaped in HTML', () => {
  const evil = `<img src=x onerror=alert(1)> & "quotes" 'single'`;
  const letter: Letter = {
    subject: evil,
    heading: evil,
    paragraphs: [evil],
    facts: [[evil, evil]],
    action: { label: evil, url: `${PUBLIC_URL}/"><script>` },
    notes: [evil],
  };
  const html = renderHtml(letter, {
    publicUrl: PUBLIC_URL,
    sender: { name: '<b>Acme</b>', support: 'https://example.com/?"><script>' },
    unsubscribePage: '"><script>',
  });
  expect(html).not.toMatch(/<img|<script|onerror=alert\(1\)>(?!&)/);
  expect(html).toContain('&lt;img src=x onerror=alert(1)&gt; &amp; &quot;quotes&quot; &#39;single&#39;');
});

test('a name that could be a link or a message is left out of a mail to a stranger', () => {
  for (const name of ['Acme', 'Ärzte & Söhne (Wien)', '日本電気', "O'Brien Ltd", 'R-D_2'])
    expect([name, plainName(name)]).toEqual([name, name]);
  for (const name of [
    'evil.example',
    'http evil',
    'www evil',
    'pay: 5/month',
    'a@b',
    '<b>',
    'line\nbreak',
    `long ${'x'.repeat(60)}`,
    '‮reversed',
    '$$$ won!',
    '',
  ])
    expect([name, plainName(name)]).toEqual([name, null]);
  const content: MailContent = {
    kind: 'invitation',
    role: 'owner',
    account: 'evil.example',
    url: URL_SHOWN,
    expiresAtMs: 0,
  };
  const letter = writeLetter(content, PUBLIC_URL);
  expect(JSON.stringify(letter)).not.toContain('evil.example');
});

test('a notice that is not about security can be unsubscribed from, in text and HTML', () => {
  const notice = { title: 'Balance low', sentence: 'It fell.', atMs: 0, account: 'Acme', url: URL_SHOWN };
  const letter = writeNotice({ ...notice, isSecurity: false }, PUBLIC_URL);
  for (const form of [renderText(letter, frame), renderHtml(letter, frame)])
    expect(form).toContain(frame.unsubscribePage);
  for (const form of [renderText, renderHtml])
    expect(form(letter, { ...frame, unsubscribePage: null })).not.toContain('nsubscribe');
});

describe('the settings', () => {
  const read = (environment: Record<string, string>) => inspectConfig({}, environment);
  const complete = {
    TURNPIKE_SMTP_URL: 'smtp://user%40example.com:p%25ss@mail.example.com:2525',
    TURNPIKE_MAIL_FROM: 'Turnpike <turnpike@example.com>',
    TURNPIKE_PUBLIC_URL: PUBLIC_URL,
  };

  test('are read from a URL and an address', () => {
    expect(read(complete).config.mail).toEqual({
      host: 'mail.example.com',
      port: 2525,
      isTlsFirst: false,
      tls: 'required',
      login: { user: 'user@example.com', password: 'p%ss' },
      from: { name: 'Turnpike', address: 'turnpike@example.com' },
      publicUrl: PUBLIC_URL,
    });
    const bare = read({ ...complete, TURNPIKE_SMTP_URL: 'smtps://[::1]', TURNPIKE_MAIL_FROM: 'a@example.com' });
    expect(bare.config.mail).toMatchObject({ host: '::1', port: 465, isTlsFirst: true, tls: 'required', login: null });
    expect(read({}).config.mail).toBeNull();
  });

  test('are refused together, with the names of all that are wrong or missing, and never with a password', () => {
    const faultsOf = (environment: Record<string, string>) =>
      read(environment).faults.map((fault) => fault.split(':')[0]);
    expect(faultsOf({ TURNPIKE_SMTP_URL: complete.TURNPIKE_SMTP_URL })).toEqual([
      'TURNPIKE_MAIL_FROM',
      'TURNPIKE_PUBLIC_URL',
    ]);
    expect(faultsOf({ TURNPIKE_MAIL_FROM: 'a@example.com' })).toEqual(['TURNPIKE_SMTP_URL', 'TURNPIKE_PUBLIC_URL']);
    for (const url of [
      'http://secret-word@host',
      'smtp://user@host',
      'smtp://:secret-word@host',
      'smtp://u:secret-word%@host',
      'smtp://u:secret-word@host?tls=maybe',
      'smtp://u:secret-word@host?file=x',
      'smtps://u:secret-word@host?tls=none',
      'smtp://u:secret-word@host/path',
      'secret-word',
    ]) {
      const { faults, config } = read({ ...complete, TURNPIKE_SMTP_URL: url });
      expect([url, faults.length > 0, faults.join().includes('secret-word')]).toEqual([url, true, false]);
      expect(config.mail === null || faults.length > 0).toBe(true);
    }
    for (const from of [
      'nobody',
      'a@b c',
      'Name <a@example.com>, b@example.com',
      'X\r\nBcc: e@x.y <a@example.com>',
      '<>',
    ])
      expect([from, faultsOf({ ...complete, TURNPIKE_MAIL_FROM: from })]).toEqual([from, ['TURNPIKE_MAIL_FROM']]);
  });
});
