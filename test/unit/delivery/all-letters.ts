// One letter of each kind, for tests and for pictures. It has no tests of its own.

import { type MailContent, type MailKind, writeLetter, writeNotice } from '../../../src/delivery/letters.ts';
import type { Letter } from '../../../src/delivery/render-letter.ts';

export const PUBLIC_URL = 'https://console.example.com';
export const URL_SHOWN = `${PUBLIC_URL}/console/invitation#tk-inv-${'a1B2'.repeat(12)}`;
const AT_MS = Date.UTC(2026, 10, 25, 14, 5);

const contents: { [Kind in MailKind]: Extract<MailContent, { kind: Kind }> } = {
  invitation: { kind: 'invitation', role: 'owner', account: 'Acme & Sons', url: URL_SHOWN, expiresAtMs: AT_MS },
  'invitation-known': { kind: 'invitation-known', account: 'Acme & Sons' },
  recovery: { kind: 'recovery', url: URL_SHOWN, expiresAtMs: AT_MS },
  'sign-up': { kind: 'sign-up', url: URL_SHOWN, expiresAtMs: AT_MS },
  'sign-up-known': { kind: 'sign-up-known', url: URL_SHOWN, hasInvitation: false },
  'password-reset': { kind: 'password-reset', url: URL_SHOWN, expiresAtMs: AT_MS },
  'password-reset-single-sign-on': { kind: 'password-reset-single-sign-on', issuer: 'Acme ID', url: URL_SHOWN },
  'password-reset-invited': { kind: 'password-reset-invited' },
  export: { kind: 'export', name: 'Finance', period: '2026-11', url: `${PUBLIC_URL}/console/exports?kind=focus` },
  'password-changed': { kind: 'password-changed', atMs: AT_MS, address: '203.0.113.9', url: URL_SHOWN },
};

const notice = {
  title: 'Balance low',
  sentence: 'The balance fell below $5.00: $4.87 is available.',
  atMs: AT_MS,
  account: 'Acme & Sons',
  url: `${PUBLIC_URL}/console/accounts`,
  isSecurity: false,
};

export const allLetters: Readonly<Record<string, Letter>> = {
  ...Object.fromEntries(Object.entries(contents).map(([kind, content]) => [kind, writeLetter(content, PUBLIC_URL)])),
  notice: writeNotice(notice, PUBLIC_URL),
};
